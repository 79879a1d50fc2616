import jsonapiSerializer from 'jsonapi-serializer';
import { ALL, createFixture, type Fixture, NAMED } from './fixture.js';

type Flat = Record<string, unknown> & { id: unknown };

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.api.close());

/** Reads a document with jsonapi-serializer, which shares no code with the engine. */
async function deserialize({ links: _links, ...document }: Record<string, unknown>) {
  const deserializer = new jsonapiSerializer.Deserializer({ keyForAttribute: (name) => name });
  return (await deserializer.deserialize(document)) as Flat[];
}

describe.each(NAMED)('a list of %s, read by jsonapi-serializer', (_type, definition) => {
  it('has the id and every attribute of each resource', async () => {
    const { body } = await fixture.get(definition.path, { 'page[size]': '1000' });
    const read = await deserialize(body);
    expect(read).toHaveLength(body.data.length);
    for (const [index, { id, attributes }] of body.data.entries()) {
      expect(read[index]).toMatchObject({ id, ...attributes });
    }
  });

  it('has the included resources in place of the links to them', async () => {
    for (const [name, relation] of Object.entries(definition.relationships)) {
      const related = ALL.find(({ type }) => type === relation.type);
      const query = { include: name, 'page[size]': '1000' };
      const { body } = await fixture.get(definition.path, query);
      const read = await deserialize(body);
      for (const [index, { relationships }] of body.data.entries()) {
        const all = [relationships[name].data ?? []].flat() as { id: number; type: string }[];
        // What is among the primary data is not included a second time.
        const linked = all.filter(({ type }) => type !== definition.type);
        const included = [read[index]?.[name] ?? []].flat() as Flat[];
        expect(included.map(({ id }) => id)).toEqual(linked.map(({ id }) => id));
        for (const resource of included) {
          const known = Object.keys(related?.attributes ?? {});
          expect(Object.keys(resource).some((key) => known.includes(key))).toBe(true);
        }
      }
    }
  });
});
