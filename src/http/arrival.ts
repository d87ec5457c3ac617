import type { NextFunction, Request, Response } from 'express';

/** Something that happens to every request before it is routed; a failure it throws is answered. */
export type ArrivalStep = (request: Request, response: Response) => void;

/** The steps in their order, as one middleware. None of them can forget to call the next one. */
export function onArrival(...steps: readonly ArrivalStep[]) {
  return (request: Request, response: Response, next: NextFunction): void => {
    for (const step of steps) step(request, response);
    next();
  };
}
