import { ApiPropertyOptional, OmitType, PartialType, PickType } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { Expose, Transform, Type } from 'class-transformer';
import {
  IsDate,
  IsIn,
  IsInt,
  IsLatitude,
  IsOptional,
  IsString,
  Max,
  Min,
  ValidateNested,
  IsArray,
  IsObject,
} from 'class-validator';
import type { ArgumentMetadata } from '@nestjs/common';
import type { Request } from 'express';
import { beforeAll, describe, expect, it } from 'vitest';
import { ERRORS } from '../../src/errors/common-errors.js';
import { ServiceException } from '../../src/errors/service.exception.js';
import { DtoPipe, ExactDigits, NoOtherParameters } from '../../src/http/body/dto.pipe.js';
import { stringifyExactJson, toInteger } from '../../src/json/exact-json.js';
import { jsonBody } from '../../src/http/body/json-body.js';
import { ToolDto } from '../support/tool.js';

/* DTOs as in Nest's documentation. */

class OwnerDto {
  @IsString()
  name!: string;
}

class CatDto {
  @IsString()
  name!: string;

  @IsInt()
  @Max(30)
  age = 1;

  @IsOptional()
  @Transform(
    ({ obj, key }: { obj: Record<string, unknown>; key: string }) =>
      toInteger(obj[key]) ?? obj[key],
  )
  chip?: bigint;

  @IsOptional()
  @IsString({ each: true })
  toys?: string[];

  @IsOptional()
  @ValidateNested({ each: true })
  @Type(() => OwnerDto)
  friends?: OwnerDto[];

  @IsOptional()
  @ValidateNested()
  @Type(() => OwnerDto)
  owner?: OwnerDto;

  @IsOptional()
  @Expose({ name: 'fur-colour' })
  @IsString()
  colour?: string;

  @IsOptional()
  @IsObject()
  notes?: Record<string, unknown>;

  @IsOptional()
  @IsArray()
  list?: unknown[];

  secret?: string;
}

class NamedDto {
  @Expose({ name: 'notes' })
  @IsObject()
  remarks!: object;

  @IsOptional()
  @Expose({ name: 'fur-colour' })
  @IsString()
  colour?: string;
}

class BornDto {
  @IsDate()
  @Transform(({ value }) => new Date(String(value)))
  born!: Date;
}

class BredDto extends BornDto {}

class NumberedDto {
  @Min(1n as never)
  number!: bigint;
}

/** Rules for numbers, where the run-time type is no `Number`. */
class PlaceDto {
  @IsLatitude()
  readonly lat!: number | null;

  @IsOptional()
  @IsLatitude({ each: true })
  readonly lats?: number[];

  @IsOptional()
  @IsIn([0.1, 0.2])
  readonly step?: number | null;

  @IsOptional()
  @Expose({ name: 'free-form' })
  readonly free?: unknown;

  @IsOptional()
  @ExactDigits()
  readonly exact?: unknown;

  @IsOptional()
  @IsLatitude({ each: true })
  @ExactDigits()
  readonly exactLats?: number[];

  @IsOptional()
  @Expose({ name: 'exact-named' })
  @ExactDigits()
  readonly named?: unknown;
}

class PageDto {
  @IsString()
  after!: string;
}

class NothingDto {
  name!: string;
}

let pipe: DtoPipe;

beforeAll(async () => {
  const module = await Test.createTestingModule({ providers: [DtoPipe] }).compile();
  pipe = module.get(DtoPipe);
});

/** A body that has arrived, but has not been read. */
function unread(content: string): unknown {
  const bytes = Buffer.from(content);
  const headers = { 'content-type': 'application/json', 'content-length': String(bytes.length) };
  const request = {
    headers,
    readableLength: bytes.length,
    read: () => bytes,
  } as unknown as Request;
  jsonBody({ bytes: 2_000_000, idleMilliseconds: 1_000, milliseconds: 1_000 })(request);
  return request.body;
}

/** The argument of the handler, or the failure of the pipe. */
async function body(content: string, metatype: ArgumentMetadata['metatype'] = CatDto) {
  return pipe.transform(unread(content), { type: 'body', metatype });
}

async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => expect.fail(`got ${String(value)}`),
    (error: unknown) => error,
  );
}

async function mistakes(content: string, metatype: ArgumentMetadata['metatype'] = CatDto) {
  const error = await failure(body(content, metatype));
  expect(error).toBeInstanceOf(ServiceException);
  expect(error).toMatchObject({ kind: ERRORS.bodyNotValid });
  return (error as Error).message;
}

describe('a DTO out of a body', () => {
  it('is an instance of its class, with the members that have a rule', async () => {
    const content = '{"name":"Tom","age":3,"toys":["mouse"],"secret":"x","other":{"a":[1]}}';
    const cat = await body(content);
    expect(cat).toBeInstanceOf(CatDto);
    expect(cat).toEqual({ name: 'Tom', age: 3, toys: ['mouse'] });
  });

  it('keeps defaults of members that the body lacks', async () => {
    expect(await body('{"name":"Tom"}')).toEqual({ name: 'Tom', age: 1 });
  });

  it('has the names and types that class-transformer gives', async () => {
    const content =
      '{"name":"Tom","chip":9007199254740993.0,"fur-colour":"grey","owner":{"name":"Ann"}}';
    const cat = (await body(content)) as CatDto;
    expect(cat).toMatchObject({ chip: 9007199254740993n, colour: 'grey', owner: { name: 'Ann' } });
    expect(cat.owner).toBeInstanceOf(OwnerDto);
  });

  it('keeps an object and an array without a class as they are', async () => {
    const notes = { a: 1, b: [{ c: null }], constructor: 'x', big: Number('9007199254740993') };
    const content = `{"name":"Tom","notes":{"a":1,"b":[{"c":null}],"constructor":"x","big":9007199254740993},"list":[1,{"a":2},[3]]}`;
    const cat = (await body(content)) as CatDto;
    expect(JSON.parse(JSON.stringify(cat.notes))).toEqual(notes);
    expect(cat.list).toEqual([1, { a: 2 }, [3]]);
  });

  it.each([
    ['a class', PlaceDto],
    ['a class that is mapped', OmitType(PartialType(PlaceDto), ['step'])],
  ])('rounds fractions like a double, except where %s has all digits', async (_, dto) => {
    const pi = '3.14159265358979323846264338327950288';
    const content = `{"lat":52.520006599999996123,"lats":[${pi}],"step":0.1000000000000000000001,"free-form":{"a":[${pi}]},"exact":{"a":[${pi}]},"exactLats":[${pi}],"exact-named":${pi}}`;
    const place = (await body(content, dto)) as PlaceDto;
    expect(place).toMatchObject({
      lat: Number('52.520006599999996'),
      lats: [Math.PI],
      free: { a: [Math.PI] },
      exactLats: [Math.PI],
    });
    expect(place.step).toBe(dto === PlaceDto ? 0.1 : undefined);
    expect(stringifyExactJson([place.exact, place.named])).toBe(`[{"a":[${pi}]},${pi}]`);
    const [integer, almost] = ['9007199254740993', '0.99999999999999999999'];
    const kept = (await body(`{"lat":1,"free-form":[${integer},${almost}]}`, dto)) as PlaceDto;
    expect(stringifyExactJson(kept.free)).toBe(`[${integer},${almost}]`);
  });

  it('takes an object from the member that it is called in JSON', async () => {
    const content = '{"notes":{"constructor":1},"remarks":{"a":1},"colour":"grey"}';
    expect(await body(content, NamedDto)).toEqual({ remarks: { constructor: 1 } });
  });

  it('leaves a member to the transformation that its class has inherited', async () => {
    expect(await body('{"born":"2020-02-02"}', BredDto)).toEqual({ born: new Date('2020-02-02') });
  });

  it.each([
    [ToolDto, '{"id":[1],"name":"a"}', 'id must be an integer between'],
    [NumberedDto, '{"number":[1]}', 'number must not be less than 1'],
    [NumberedDto, '{"number":{"constructor":1}}', 'number must not be less than 1'],
  ])('refuses an array or an object where %o has a bigint: %s', async (dto, content, message) => {
    expect(await mistakes(content, dto)).toContain(message);
  });

  it('names each mistake, and distinguishes missing from wrong members', async () => {
    expect(await mistakes('{"age":40,"toys":[1]}')).toBe(
      'name is missing; age must not be greater than 30; each value in toys must be a string',
    );
    expect(await mistakes('{"name":"Tom","owner":{}}')).toBe('owner.name is missing');
    expect(await mistakes('{"name":"Tom","owner":{"name":1}}')).toBe('owner.name must be a string');
    expect(await mistakes('{"name":null}')).toBe('name must be a string');
    const friends = Array.from({ length: 10_000 }, () => '{}').join(',');
    expect(await mistakes(`{"friends":[${friends}],"name":"Tom"}`)).toMatch(
      /^friends\.0\.name is missing;.* friends\.9\.name is missing; and 9990 more$/,
    );
  });

  it.each([
    '{"name":{"constructor":1}}',
    '{"name":{"constructor":{"name":"String","prototype":{"constructor":{}}}}}',
    '{"name":{"then":1}}',
    '{"name":{"__proto__":{"length":1}}}',
    '{"name":[{"constructor":null}]}',
    '{"name":{"toString":1,"valueOf":1}}',
  ])('ignores members of %s that look like a class', async (content) => {
    expect(await mistakes(content)).toBe('name must be a string');
  });

  it('does not let a body change a prototype', async () => {
    const cat = await body('{"name":"Tom","__proto__":{"secret":"x"},"constructor":{"a":1}}');
    expect(Object.getPrototypeOf(cat)).toBe(CatDto.prototype);
    expect((cat as CatDto).secret).toBeUndefined();
    expect(({} as { secret?: string }).secret).toBeUndefined();
  });

  it('takes linear time for unknown members, also when it is mapped', async () => {
    const many = Array.from({ length: 100_000 }, (_, index) => `"m${index}":0`).join(',');
    const start = process.cpuUsage();
    expect(await body(`{"name":"Tom",${many}}`)).toEqual({ name: 'Tom', age: 1 });
    expect(await mistakes(`{"name":{${many}}}`)).toBe('name must be a string');
    expect(await mistakes(`{"name":"Tom","owner":{${many}}}`)).toBe('owner.name is missing');
    expect(await body(`{${many}}`, PartialType(OwnerDto))).toEqual({});
    const Picked = PickType(OwnerDto, ['name']);
    expect(await mistakes(`{"name":{${many}}}`, Picked)).toBe('name must be a string');
    // Quadratic time would be minutes.
    expect(process.cpuUsage(start).user / 1_000).toBeLessThan(5_000);
  });
});

describe('a DTO that is mapped', () => {
  const content =
    '{"name":"Tom","age":"3","chip":9007199254740993,"owner":{"name":"Ann","constructor":1},"notes":{"constructor":1},"other":1}';

  it('with PickType has the members, rules and types that are picked', async () => {
    const Picked = PickType(CatDto, ['chip', 'owner', 'notes', 'colour']);
    const picked = (await body(content, Picked)) as CatDto;
    expect(picked).toBeInstanceOf(Picked);
    expect(picked).toEqual({
      chip: 9007199254740993n,
      owner: { name: 'Ann' },
      notes: { constructor: 1 },
    });
    expect(picked.owner).toBeInstanceOf(OwnerDto);
    expect(await body('{"fur-colour":"grey"}', Picked)).toEqual({ colour: 'grey' });
    expect(await mistakes('{"owner":{"name":1}}', Picked)).toBe('owner.name must be a string');
  });

  it('with OmitType has all others', async () => {
    const Omitted = OmitType(CatDto, ['age', 'chip']);
    const omitted = await body(content, Omitted);
    expect(omitted).toEqual({ name: 'Tom', owner: { name: 'Ann' }, notes: { constructor: 1 } });
    expect(await mistakes('{"age":3}', Omitted)).toBe('name is missing');
  });

  it('with PartialType has all, each of which can be absent', async () => {
    // Only what has `@ApiProperty()` or a rule is known to it. The initial value stays.
    const Partial = PartialType(CatDto, { skipNullProperties: false });
    expect(await body('{}', Partial)).toEqual({ age: 1 });
    expect(await body('{"owner":{"name":"Ann"}}', Partial)).toEqual({
      age: 1,
      owner: { name: 'Ann' },
    });
    expect(await mistakes('{"name":{"constructor":1}}', Partial)).toBe('name must be a string');
    expect(await mistakes(content, Partial)).toMatch(/^age must/);
  });
});

describe('a body or a query that cannot become a DTO', () => {
  it.each([
    ['has lost its class by `import type`', Object],
    ['has no type at all', undefined],
    ['is a string', String],
    ['is a class without rules', NothingDto],
  ])('because its parameter %s is a bug', (_, metatype) => {
    const value = unread('{"name":"Tom"}');
    for (const type of ['body', 'query'] as const) {
      expect(() => pipe.transform(value, { type, metatype })).toThrow(TypeError);
    }
  });

  it('is an array of a query', () => {
    expect(() => pipe.transform({}, { type: 'query', metatype: Array })).toThrow(TypeError);
  });
});

it('a DTO out of the parameters of a path is checked, too', () => {
  const metadata: ArgumentMetadata = { type: 'param', metatype: PageDto };
  expect(() => pipe.transform({}, metadata)).toThrow('after is missing');
});

describe('passed unchanged', () => {
  it.each<[string, ArgumentMetadata]>([
    ['one parameter of the query', { type: 'query', data: 'name', metatype: String }],
    ['one parameter of the path', { type: 'param', data: 'id', metatype: BigInt as never }],
    ['all parameters of the path, without a class', { type: 'param', metatype: Object }],
    ['what a custom decorator gives', { type: 'custom', metatype: CatDto }],
    ['what a custom decorator gives, of no class', { type: 'custom', metatype: Object }],
  ])('is %s', (_, metadata) => {
    const value = { name: 7 };
    expect(pipe.transform(value, metadata)).toBe(value);
  });
});

describe('the query of a class with @NoOtherParameters()', () => {
  class SearchDto {
    @IsOptional()
    @IsString()
    @ApiPropertyOptional()
    name?: string;

    @IsOptional()
    @IsString({ each: true })
    @ApiPropertyOptional({ type: [String] })
    toys?: string[];

    @IsOptional()
    @IsString({ each: true })
    @ApiPropertyOptional({ type: 'array', items: { type: 'string' } })
    friends?: string[];

    @IsOptional()
    @IsString({ each: true })
    @ApiPropertyOptional({ enum: ['a', 'b'], isArray: true })
    kinds?: string[];
  }
  @NoOtherParameters()
  class StrictSearchDto extends OmitType(SearchDto, []) {}

  const query = (value: object): unknown =>
    new DtoPipe().transform(value, { type: 'query', metatype: StrictSearchDto });

  it.each(['toys', 'friends', 'kinds'])('may have %s several times, which is a list', (name) => {
    expect(query({ [name]: ['a', 'b'] })).toMatchObject({ [name]: ['a', 'b'] });
  });

  it('has each other parameter once', () => {
    expect(() => query({ name: ['a', 'b'] })).toThrow('name must not be given twice');
    expect(() => query({ other: ['a', 'b'] })).toThrow('there is no parameter "other"');
  });
});
