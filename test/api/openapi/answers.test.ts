import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ResourceDefinition } from '../../../src/jsonapi/definition.js';
import { DEFINITIONS } from '../../../src/resources/index.js';
import { type Call, caseOf } from '../../contract/operations.js';
import { createWorld, type World } from '../../contract/world.js';
import {
  createOpenApiValidator,
  type OpenApiDocument,
  type OpenApiValidator,
} from '../openapi-validator.js';

interface Named {
  method: string;
  path: string;
}

const ROUTES = join(__dirname, '..', '..', 'fixtures', 'contract', 'routes.json');
const contract = (JSON.parse(readFileSync(ROUTES, 'utf8')) as Named[]).filter(({ path }) =>
  path.startsWith('/api/v1/'),
);
const types = DEFINITIONS as ResourceDefinition[];

let world: World;
let api: OpenApiValidator;

beforeAll(async () => {
  world = await createWorld();
  const response = await send('GET', { path: '/openapi.json' });
  api = createOpenApiValidator((await response.json()) as OpenApiDocument);
});
afterAll(() => world.stop());

interface Extra {
  token?: string;
  headers?: Record<string, string>;
  text?: string;
}

function send(method: string, { path, body, form }: Call, extra: Extra = {}): Promise<Response> {
  const { token = world.tokens.admin, headers, text } = extra;
  const json = (body || text) && { 'Content-Type': 'application/vnd.api+json' };
  return fetch(`${world.app.url}/api/v1${path}`, {
    method,
    headers: { ...json, ...headers, ...(token && { Authorization: `Bearer ${token}` }) },
    body: form ?? text ?? (body ? JSON.stringify(body) : null),
  });
}

/** The status, and everything about the answer that the document does not say. */
async function judged(name: string, response: Response) {
  const mediaType = response.headers.get('content-type') ?? undefined;
  const text = await response.text();
  const body: unknown = /json/.test(mediaType ?? '') ? JSON.parse(text) : text;
  const { status } = response;
  const faults = api.faultsOfAnswer(name, { status, mediaType, body });
  return [name, status, ...(faults.length > 0 ? [faults, body] : [])];
}

describe('answers are as the API document says:', () => {
  it.each(contract.map(({ method, path }) => [`${method} ${path}`, method, path]))(
    '%s',
    async (name, method, path) => {
      const { status, prepare } = caseOf(method, path.replace('/api/v1', ''));
      const call = await prepare(world);
      if (call.body) expect([name, ...api.faultsOfBody(name, call.body)]).toEqual([name]);
      expect(await judged(name, await send(method, call))).toEqual([name, status]);
    },
  );

  it.each(types.map((definition): [string, ResourceDefinition] => [definition.type, definition]))(
    'every page of %s, whatever is included or selected',
    async (type, definition) => {
      const name = `GET /api/v1${definition.path}`;
      const relations = Object.keys(definition.relationships);
      const include = relations.length > 0 ? `include=${relations.join(',')}` : '';
      const fields = `fields[${type}]=${Object.keys(definition.attributes)[0]}`;
      for (const query of ['', include, fields, 'page[size]=1&page[total]=exact']) {
        const response = await send('GET', { path: `${definition.path}?${query}` });
        expect(await judged(name, response)).toEqual([name, 200]);
      }
    },
  );
});

describe('refusals are as the API document says:', () => {
  const tag = (attributes: Record<string, unknown>) => ({ data: { type: 'tags', attributes } });

  it.each<[status: number, name: string, what: string, call: Call, extra?: Extra]>([
    [400, 'listTags', 'an unknown parameter', { path: '/tags?nonsense=1' }],
    [400, 'createTag', 'broken JSON', { path: '/tags' }, { text: '{' }],
    [401, 'listTags', 'no token', { path: '/tags' }, { token: '' }],
    [404, 'getTag', 'an unknown id', { path: '/tags/999999999' }],
    [404, 'listTagDevices', 'an unknown parent', { path: '/tags/999999999/devices' }],
    [404, 'deleteTag', 'an unknown id', { path: '/tags/999999999' }],
    [404, 'getTagDevicesRelationship', 'one', { path: '/tags/999999999/relationships/devices' }],
    [
      406,
      'listTags',
      'parameters',
      { path: '/tags' },
      { headers: { Accept: 'application/vnd.api+json;x=1' } },
    ],
    [409, 'createTag', 'another type', { path: '/tags', body: { data: { type: 'devices' } } }],
    [413, 'createTag', 'a huge body', { path: '/tags', body: tag({ name: 'x'.repeat(2 ** 20) }) }],
    [
      415,
      'createTag',
      'text',
      { path: '/tags' },
      { text: 'x', headers: { 'Content-Type': 'text/plain' } },
    ],
    [422, 'createTag', 'no document', { path: '/tags', body: {} }],
    [422, 'createTag', 'several faults', { path: '/tags', body: tag({ color: 1, size: 2 }) }],
  ])('%i of %s for %s', async (status, name, _what, call, extra) => {
    const { method } = api.find(name);
    expect(await judged(name, await send(method, call, extra))).toEqual([name, status]);
  });

  it('403 for a role that may not', async () => {
    const call = { path: '/tags', body: tag({ name: 'Sales' }) };
    const response = await send('POST', call, { token: world.tokens.viewer });
    expect(await judged('createTag', response)).toEqual(['createTag', 403]);
  });

  it('409 for a name that is taken, 412 for an old tag, 304 for a known one', async () => {
    const id = await world.create('/tags', 'tags', { name: 'Taken' });
    const again = await send('POST', { path: '/tags', body: tag({ name: 'Taken' }) });
    expect(await judged('createTag', again)).toEqual(['createTag', 409]);
    const found = await send('GET', { path: `/tags/${id}` });
    const ifMatch = { headers: { 'If-Match': '"old"' } };
    const body = { data: { type: 'tags', id, attributes: { color: '00ff00' } } };
    const late = await send('PATCH', { path: `/tags/${id}`, body }, ifMatch);
    expect(await judged('updateTag', late)).toEqual(['updateTag', 412]);
    const headers = { 'If-None-Match': found.headers.get('etag') ?? '' };
    const known = await send('GET', { path: `/tags/${id}` }, { headers });
    expect(await judged('getTag', known)).toEqual(['getTag', 304]);
  });
});

describe('the comparison itself', () => {
  it('finds members that are not documented, wrong types and undocumented statuses', () => {
    const data = {
      type: 'tags',
      id: 1,
      attributes: { name: 'Sales', color: '888888' },
      links: { self: '/api/v1/tags/1' },
    };
    const mediaType = 'application/vnd.api+json';
    const document = { data, links: data.links, jsonapi: { version: '1.0' } };
    const judge = (body: unknown, status = 200) =>
      api.faultsOfAnswer('getTag', { status, mediaType, body });
    expect(judge(document)).toEqual([]);
    expect(judge({ ...document, surprise: 1 })).toHaveLength(1);
    expect(judge({ ...document, data: { ...data, id: '1' } })).toHaveLength(1);
    const attributes = { ...data.attributes, secret: 'x' };
    expect(judge({ ...document, data: { ...data, attributes } })).toHaveLength(1);
    expect(judge(document, 201)).toEqual(['getTag does not answer 201']);
    expect(() => api.find('GET /api/v1/nothing')).toThrow('is not in the API document');
  });
});
