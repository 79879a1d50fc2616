import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN_TOKEN, startApp, type TestApp } from '../../helpers/app.js';
import {
  createOpenApiValidator,
  type OpenApiDocument,
  type OpenApiValidator,
  type Operation,
} from '../openapi-validator.js';
import { mountedPaths } from './mounted-paths.js';

/** After a new operation: UPDATE_OPERATIONS=1 npx jest test/api/openapi, and read the diff. */
const SNAPSHOT = join(__dirname, 'operation-ids.snapshot.txt');
const ROUTES = join(__dirname, '..', '..', 'fixtures', 'contract', 'routes.json');

/** Of admins, though not below /api/v1. */
const PROGRAM = ['/dep/certificate/download', '/dep/stoken/upload'];
const OF_DEVICES = ['/dep/enroll', '/dep/anchor_certs'];
const JSON_TYPE = 'application/json';

let app: TestApp;
let document: OpenApiDocument;
let api: OpenApiValidator;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  document = (await (await send('GET', '/api/v1/openapi.json')).json()) as OpenApiDocument;
  api = createOpenApiValidator(document);
});
afterAll(() => app.stop());

function send(method: string, path: string, json?: unknown): Promise<Response> {
  const mediaType = json === undefined ? {} : { 'Content-Type': JSON_TYPE };
  const headers = { Authorization: `Bearer ${ADMIN_TOKEN}`, ...mediaType };
  const body = json === undefined ? null : JSON.stringify(json);
  return fetch(app.url + path, { method, headers, body });
}

/** Resources have their examples elsewhere. */
function exampleOf(body: Operation['requestBody']): unknown {
  return body?.content[JSON_TYPE]?.example;
}

/** Ids that exist nowhere, so that nothing is changed by asking. */
function concrete(path: string): string {
  return path.replace(/\{\w+\}/g, '999999999');
}

function methodsOf(path: string): string[] {
  return Object.keys(document.paths[path] ?? {}).map((method) => method.toUpperCase());
}

describe('the API document and what is mounted', () => {
  it('name the same paths', () => {
    const documented = new Set(Object.keys(document.paths));
    // What devices call is none of its business.
    const dep = mountedPaths(app.app, '/dep').filter((path) => !OF_DEVICES.includes(path));
    expect(documented).toEqual(new Set([...mountedPaths(app.app, '/api/v1'), ...dep]));
  });

  it('name the same methods of each path: Allow has them, and all others get 405', async () => {
    for (const path of Object.keys(document.paths)) {
      const options = await send('OPTIONS', concrete(path));
      const put = await send('PUT', concrete(path));
      expect([path, options.status, put.status]).toEqual([path, 204, 405]);
      expect([path, put.headers.get('allow')]).toEqual([path, options.headers.get('allow')]);
      const allowed = (put.headers.get('allow') ?? '').split(', ');
      const main = allowed.filter((name) => name !== 'HEAD' && name !== 'OPTIONS');
      expect([path, new Set(main)]).toEqual([path, new Set(methodsOf(path))]);
      const others = ['GET', 'POST', 'PATCH', 'DELETE'].filter((name) => !allowed.includes(name));
      for (const method of others) {
        const response = await send(method, concrete(path));
        expect([method, path, response.status]).toEqual([method, path, 405]);
        expect(response.headers.get('allow')).toBe(put.headers.get('allow'));
      }
    }
  });

  it('agree that every operation is there, as its refusal is documented', async () => {
    for (const { method, path, operation } of api.operations) {
      const response = await send(method, concrete(path));
      const text = await response.text();
      const name = operation.operationId;
      const mediaType = response.headers.get('content-type') ?? undefined;
      const body: unknown = /json/.test(mediaType ?? '') ? JSON.parse(text) : text;
      expect([name, response.status]).not.toEqual([name, 405]);
      expect([name, body]).not.toMatchObject([name, { errors: [{ code: 'no_such_route' }] }]);
      const answer = { status: response.status, mediaType, body };
      expect([name, ...api.faultsOfAnswer(name, answer)]).toEqual([name]);
    }
  });

  it('agree that an action refuses an id that does not exist, whatever it shows', async () => {
    const actions = api.operations.filter(
      ({ method, path, operation: { requestBody } }) =>
        method === 'POST' && path.includes('{') && (!requestBody || exampleOf(requestBody)),
    );
    const answers = await Promise.all(
      actions.map(async ({ path, operation: { operationId, requestBody } }) => {
        const { status } = await send('POST', concrete(path), exampleOf(requestBody));
        return [operationId, status];
      }),
    );
    expect(answers).toEqual(actions.map(({ operation }) => [operation.operationId, 404]));
    expect(answers.flat()).toEqual(expect.arrayContaining(['clearPasscode', 'revokeCertificate']));
  });

  it('have every operation of the contract', () => {
    const contract = JSON.parse(readFileSync(ROUTES, 'utf8')) as { method: string; path: string }[];
    const names = contract
      .filter(({ path }) => path.startsWith('/api/v1/') || PROGRAM.includes(path))
      .map(({ method, path }) => `${method} ${path}`);
    expect(names).toHaveLength(115);
    const lost = names.filter((name) => !isDocumented(name));
    expect(lost).toEqual([]);
  });

  it('keep the names of the operations, which are those of functions in clients', () => {
    const names = api.operations.map(
      ({ method, path, operation }) => `${operation.operationId} ${method} ${path}`,
    );
    const text = `${names.sort((a, b) => (a < b ? -1 : 1)).join('\n')}\n`;
    if (process.env.UPDATE_OPERATIONS === '1') writeFileSync(SNAPSHOT, text);
    expect(text).toBe(readFileSync(SNAPSHOT, 'utf8'));
  });
});

function isDocumented(name: string): boolean {
  try {
    return api.find(name) !== undefined;
  } catch {
    return false;
  }
}
