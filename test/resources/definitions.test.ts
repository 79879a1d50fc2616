import type { Attribute, AttributeKind } from '../../src/jsonapi/definition/attributes.js';
import type { ResourceDefinition } from '../../src/jsonapi/definition/definition.js';
import { DEFINITIONS } from '../../src/resources/index.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';

interface Column {
  column_name: string;
  data_type: string;
  is_nullable: 'YES' | 'NO';
}

const KINDS: Record<string, AttributeKind[]> = {
  text: ['text', 'enum'],
  boolean: ['boolean'],
  smallint: ['integer'],
  integer: ['integer'],
  bigint: ['integer'],
  'double precision': ['number'],
  'timestamp with time zone': ['timestamp'],
  uuid: ['uuid'],
  jsonb: ['json'],
  ARRAY: ['json'],
};

/** Null asks for the server's own value. */
const REPLACED = ['dep_profiles.url'];

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

async function columnsOf(table: string): Promise<Column[]> {
  return database.db
    .knex<Column>('information_schema.columns')
    .select('column_name', 'data_type', 'is_nullable')
    .where({ table_schema: 'public', table_name: table } as Partial<Column>);
}

const all = DEFINITIONS as ResourceDefinition[];

describe.each(all.map((definition): [string, ResourceDefinition] => [definition.type, definition]))(
  'the definition of %s',
  (_type, definition) => {
    // One that is derived from a column of its name alone shows that column, masked for some.
    // What is computed on request has no column.
    const stored = Object.entries(definition.attributes).filter(
      ([name, { derivedFrom = [name], onRequest }]) => !onRequest && derivedFrom.join() === name,
    );

    it('has an attribute for every column but keys, secrets and blobs', async () => {
      const columns = await columnsOf(definition.table);
      const keys = Object.values(definition.relationships).flatMap((relation) =>
        relation.kind === 'toOne' ? [relation.column] : [],
      );
      const internal = [
        'id',
        'needs_handling',
        'profiles_listed_at',
        'counted_from',
        'threshold',
        'device_item_id',
        'payload_values',
        'rule_facts',
        'rule_number',
        'evaluated_to',
        'applications_listed',
        'is_pending',
        'proven_serial',
        'password_hash',
        'sync_owner',
        'sync_lease_until',
        'follows_public_url',
        'failed_at',
        'not_now_since',
        'contact_at',
        // The timeline of a command shows it.
        ...(definition.type === 'commands' ? ['ended_at'] : []),
        // `name` is its token's.
        ...(definition.type === 'sessions' ? ['token_id'] : []),
        // Only names what is sealed.
        ...(definition.type === 'command_batches' ? ['uuid'] : []),
        // Only processes of a former version use it: device_inventories has the time.
        ...(definition.type === 'devices' ? ['inventory_queued_at'] : []),
        ...keys,
      ];
      const expected = columns
        .filter(({ column_name, data_type }) => {
          return data_type !== 'bytea' && !internal.includes(column_name);
        })
        .map(({ column_name }) => column_name);
      expect(new Set(stored.map(([name]) => name))).toEqual(new Set(expected));
    });

    it('agrees with the types of the columns', async () => {
      const columns = new Map(
        (await columnsOf(definition.table)).map((column) => [column.column_name, column]),
      );
      for (const [name, attribute] of stored) {
        const allowed = KINDS[columns.get(name)?.data_type ?? ''];
        expect([name, allowed]).toEqual([name, expect.arrayContaining([attribute.kind])]);
      }
    });

    it('accepts null only when the column does', async () => {
      const required = (await columnsOf(definition.table)).filter((c) => c.is_nullable === 'NO');
      const names = required.map(({ column_name }) => column_name);
      const loose = stored.filter(
        ([name, attribute]) =>
          isWritable(attribute) &&
          names.includes(name) &&
          !REPLACED.includes(`${definition.type}.${name}`),
      );
      expect(loose.filter(([, { nullable }]) => nullable).map(([name]) => name)).toEqual([]);
    });
  },
);

function isWritable({ write }: Attribute): boolean {
  return write !== 'never';
}
