/** A generated client, whose answers are told in one line each. */
export interface Store<Id> {
  create(id: Id, name: string, tag?: string): Promise<string>;
  get(id: Id): Promise<string>;
}

/** Makes the calls that `clients.test.ts` expects, and prints a line for each answer. */
export async function makeCalls<Id>(
  storeAt: (url: string, token: string) => Store<Id>,
  toId: (id: bigint) => Id,
): Promise<void> {
  const { PLANT_STORE_URL: url = '', PLANT_STORE_TOKEN: token = '' } = process.env;
  const store = storeAt(url, token);
  const calls = [
    () => store.create(toId(9007199254740993n), 'Se\u0301nec\u0327on \u{1F335}'),
    () => store.get(toId(9007199254740993n)),
    () => store.create(toId(-(2n ** 63n)), 'Ficus', 'indoor'),
    () => store.get(toId(-(2n ** 63n))),
    () => store.create(toId(2n ** 63n - 1n), 'Aloe', 'desert'),
    () => store.get(toId(2n ** 63n - 1n)),

    () => store.create(toId(9007199254740993n), 'Monstera'),
    () => store.create(toId(1n), '\0'),
    () => storeAt(url, 'not-a-token').create(toId(1n), 'Monstera'),
    () => store.get(toId(404n)),
    () => storeAt(`${url}/nowhere`, token).create(toId(1n), 'Monstera'),
  ];
  for (const call of calls) console.log(await call());
}
