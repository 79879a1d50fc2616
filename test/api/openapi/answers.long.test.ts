import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ResourceDefinition } from '../../../src/jsonapi/definition/definition.js';
import { DEFINITIONS } from '../../../src/resources/index.js';
import { createFixture, type Fixture } from '../../contract/fixture.js';
import { type Call, caseOf } from '../../contract/operations.js';
import {
  createOpenApiValidator,
  type OpenApiDocument,
  type OpenApiValidator,
} from '../openapi-validator.js';

const MEDIA_TYPE = 'application/vnd.api+json';
const TEXT = { 'Content-Type': 'text/plain' };

interface Named {
  method: string;
  path: string;
}

const ROUTES = join(__dirname, '..', '..', 'fixtures', 'contract', 'routes.json');
const contract = (JSON.parse(readFileSync(ROUTES, 'utf8')) as Named[]).filter(({ path }) =>
  path.startsWith('/api/v1/'),
);
const types = DEFINITIONS as ResourceDefinition[];

let fixture: Fixture;
let api: OpenApiValidator;

beforeAll(async () => {
  fixture = await createFixture();
  const response = await send('GET', { path: '/openapi.json' });
  api = createOpenApiValidator((await response.json()) as OpenApiDocument);
});
afterAll(() => fixture.stop());

interface Extra {
  token?: string;
  headers?: Record<string, string>;
  text?: string;
}

interface Refusal extends Call, Extra {
  status: number;
  name: string;
}

function send(method: string, { path, body, form }: Call, extra: Extra = {}): Promise<Response> {
  const { token = fixture.tokens.admin, headers, text } = extra;
  const json = (body || text) && { 'Content-Type': MEDIA_TYPE };
  return fetch(`${fixture.app.url}/api/v1${path}`, {
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
      const call = await prepare(fixture);
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

  it.each<Refusal>([
    { status: 400, name: 'listTags', path: '/tags?nonsense=1' },
    { status: 400, name: 'createTag', path: '/tags', text: '{' },
    { status: 401, name: 'listTags', path: '/tags', token: '' },
    { status: 404, name: 'getTag', path: '/tags/999999999' },
    { status: 404, name: 'listTagDevices', path: '/tags/999999999/devices' },
    { status: 404, name: 'deleteTag', path: '/tags/999999999' },
    { status: 404, name: 'getTagDevicesRelationship', path: '/tags/9999999/relationships/devices' },
    { status: 406, name: 'listTags', path: '/tags', headers: { Accept: `${MEDIA_TYPE};x=1` } },
    { status: 409, name: 'createTag', path: '/tags', body: { data: { type: 'devices' } } },
    { status: 413, name: 'createTag', path: '/tags', body: tag({ name: 'x'.repeat(2 ** 20) }) },
    { status: 415, name: 'createTag', path: '/tags', text: 'x', headers: TEXT },
    { status: 422, name: 'createTag', path: '/tags', body: {} },
    { status: 422, name: 'createTag', path: '/tags', body: tag({ color: 1, size: 2 }) },
  ])('$status of $name', async ({ status, name, ...call }) => {
    const { method } = api.find(name);
    expect(await judged(name, await send(method, call, call))).toEqual([name, status]);
  });

  it('403 for a role that may not', async () => {
    const call = { path: '/tags', body: tag({ name: 'Sales' }) };
    const response = await send('POST', call, { token: fixture.tokens.viewer });
    expect(await judged('createTag', response)).toEqual(['createTag', 403]);
  });

  it('409 for a name that is taken, 412 for an old tag, 304 for a known one', async () => {
    const id = await fixture.create('/tags', 'tags', { name: 'Taken' });
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
    const mediaType = MEDIA_TYPE;
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
