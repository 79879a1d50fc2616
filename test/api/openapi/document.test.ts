import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { version } from '../../../package.json';
import { ATTRIBUTE_TEXTS } from '../../../src/api/openapi/texts/attribute-texts.js';
import { CATALOGUES, SINGLETONS } from '../../../src/api/routes.js';
import { ROLES } from '../../../src/jsonapi/context.js';
import type { ResourceDefinition } from '../../../src/jsonapi/definition/definition.js';
import { DEFINITIONS } from '../../../src/resources/index.js';
import { ADMIN_TOKEN, startApp, type TestApp } from '../../helpers/app.js';
import {
  removeTemporaryDirectories,
  temporaryDirectory,
} from '../../helpers/temporary-directory.js';
import {
  createOpenApiValidator,
  type OpenApiDocument,
  type OpenApiValidator,
} from '../openapi-validator.js';

const CLI = join(
  dirname(require.resolve('@seriousme/openapi-schema-validator/package.json')),
  'bin',
  'validate-api-cli.js',
);

type Json = Record<string, unknown>;

interface CertificateBody {
  data: { attributes: { purpose?: string; pem_certificate: string } };
}

let app: TestApp;
let text: string;
let document: OpenApiDocument;
let api: OpenApiValidator;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
  text = await (await fetch(`${app.url}/api/v1/openapi.json`, { headers })).text();
  document = JSON.parse(text) as OpenApiDocument;
  api = createOpenApiValidator(document);
});
afterAll(async () => {
  await app.stop();
  removeTemporaryDirectories();
});

/** What a validator that is not ours says, in a process of its own. */
function judge(candidate: OpenApiDocument): { valid: boolean } {
  const file = join(temporaryDirectory(), 'openapi.json');
  writeFileSync(file, JSON.stringify(candidate));
  const { stdout } = spawnSync(process.execPath, [CLI, file], { encoding: 'utf8' });
  return JSON.parse(stdout) as { valid: boolean };
}

/** All values of `$ref`, wherever they are. */
function referencesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) =>
    name === '$ref' && typeof part === 'string' ? [part] : referencesIn(part),
  );
}

describe('the API document', () => {
  it('is OpenAPI 3.1 to a validator that is not ours', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(judge(document)).toEqual({ valid: true });
  });

  it('is invalid to that validator with a parameter of an unknown location', () => {
    const broken = JSON.parse(text) as OpenApiDocument;
    Object.assign(broken.components.parameters?.page ?? {}, { in: 'nowhere' });
    expect(judge(broken)).toMatchObject({ valid: false });
  });

  it('has no dangling reference and no unused component', () => {
    const used = new Set(referencesIn(document));
    const had = Object.entries(document.components).flatMap(([kind, parts]) =>
      Object.keys(parts).map((name) => `#/components/${kind}/${name}`),
    );
    const unused = had.filter((name) => !used.has(name) && !/securitySchemes/.test(name));
    expect([...used].filter((name) => name.startsWith('#') && !had.includes(name))).toEqual([]);
    expect(unused).toEqual([]);
  });

  it('has its version, its security schemes and descriptions', () => {
    expect(document.info.version).toBe(version);
    expect(document.security).toEqual([{ bearer: [] }, { basic: [] }, { session: [] }]);
    expect(document.components.securitySchemes).toMatchObject({
      bearer: { type: 'http', scheme: 'bearer' },
      basic: { type: 'http', scheme: 'basic' },
      session: { type: 'apiKey', in: 'cookie', name: '__Host-muster' },
    });
    expect(document.info.description).toContain('`validation_failed`');
    expect(document.info.description).toContain('| 431 | `headers_too_large` |');
  });

  it('documents that denials match rows without a value and that keys store no errors', () => {
    const { filter, idempotency_key } = document.components.parameters ?? {};
    expect(filter).toMatchObject({
      name: 'filter[]',
      schema: { items: { contentSchema: { $ref: '#/components/schemas/filter_rule' } } },
    });
    expect(document.components.schemas?.filter_rule).toMatchObject({
      description: expect.stringContaining('`not`) also holds for rows without a value'),
    });
    expect(idempotency_key).toMatchObject({
      description: expect.stringContaining('Only successes are kept'),
    });
  });

  it('describes every attribute, and those that no document shows where they are written', () => {
    type Described = Record<string, { description?: string }>;
    const attributesOf = (schema: string): Described => {
      const { properties } = (document.components.schemas?.[schema] ?? {}) as { properties?: Json };
      return (properties ?? {}) as Described;
    };
    const all = [...(DEFINITIONS as ResourceDefinition[]), ...SINGLETONS, ...CATALOGUES];
    for (const { type, attributes } of all) {
      const texts = ATTRIBUTE_TEXTS[type] ?? {};
      expect([type, new Set(Object.keys(texts))]).toEqual([type, new Set(Object.keys(attributes))]);
      for (const [name, { writeOnly }] of Object.entries(attributes)) {
        const shown = attributesOf(`${type}_attributes`)[name];
        const written =
          attributesOf(`${type}_written`)[name] ?? attributesOf(`${type}_write_attributes`)[name];
        const description = (writeOnly ? written : shown)?.description;
        expect([type, name, description]).toEqual([
          ...[type, name],
          expect.stringContaining(texts[name] ?? ''),
        ]);
        expect([name, texts[name]]).toEqual([name, expect.stringMatching(/^\S.*\.$/)]);
      }
    }
    const update = JSON.stringify(document.components.schemas?.dep_devices_written);
    expect(update).toContain('On update only.');
  });

  it('names each operation once, with a summary, a tag, a role and its errors', () => {
    const names = api.operations.map(({ operation }) => operation.operationId);
    expect(new Set(names).size).toBe(names.length);
    for (const { operation } of api.operations) {
      const { operationId, summary, tags, responses } = operation;
      expect(operationId).toMatch(/^[a-z]+([A-Z][a-z0-9]*)+$/);
      expect([operationId, summary]).toEqual([operationId, expect.stringMatching(/^[A-Z].+[^.]$/)]);
      expect([operationId, tags.length]).toEqual([operationId, 1]);
      expect(ROLES).toContain(operation['x-role']);
      const statuses = Object.keys(responses);
      expect(statuses).toContain('default');
      expect(operation.responses.default?.description).toMatch(/401.*403.*429/s);
      expect([operationId, statuses.some((status) => /^2\d\d$/.test(status))]).toEqual([
        operationId,
        true,
      ]);
    }
  });

  it('lists both media types for each JSON body, and the limits of a body', () => {
    const bodies = api.operations.flatMap(({ operation }) => operation.requestBody ?? []);
    const json = bodies.filter(({ content }) => 'application/json' in content);
    expect(json.length).toBeGreaterThan(50);
    for (const { content } of json) {
      expect(Object.keys(content)).toEqual(['application/vnd.api+json', 'application/json']);
    }
    expect(api.faultsOfBody('createTag', tagWith({ name: 'Sales' }))).toEqual([]);
    expect(api.faultsOfBody('createTag', tagWith({ name: '' }))).toHaveLength(1);
    expect(api.faultsOfBody('createTag', tagWith({ name: 'Sales', color: 'red' }))).toHaveLength(1);
    expect(api.faultsOfBody('createTag', tagWith({ name: 'Sales', size: 1 }))).toHaveLength(1);
    expect(api.faultsOfBody('createTag', tagWith({}))).toHaveLength(1);
  });

  it('has examples that are as it says itself', () => {
    let examples = 0;
    for (const { operation } of api.operations) {
      const { operationId, requestBody } = operation;
      const ok = operation.responses['200'] ?? operation.responses['201'];
      const answer = ok && 'content' in ok ? ok.content : undefined;
      for (const content of Object.values({ ...requestBody?.content, ...answer })) {
        for (const reference of Object.values(content.examples ?? {})) {
          const { value } = api.resolve<{ value: unknown }>(reference);
          const { $ref } = content.schema as { $ref?: string };
          if ($ref === undefined) continue;
          expect([operationId, $ref, ...api.faultsOf($ref, value)]).toEqual([operationId, $ref]);
          examples += 1;
        }
      }
    }
    expect(examples).toBeGreaterThan(150);
  });

  it('has what generators take: names of parameters that differ in letters too', () => {
    for (const { operation } of api.operations) {
      const given = operation.parameters.map((parameter) => api.resolve<Json>(parameter as Json));
      const names = given.map((parameter) => String(parameter.name).replace(/\W+/g, ''));
      expect([operation.operationId, new Set(names).size]).toEqual([
        operation.operationId,
        names.length,
      ]);
    }
  });

  it('has what generators take: no type of object and null, and bodies of JSON by name', () => {
    expect(text).not.toContain('"type":["object","null"]');
    for (const { operation } of api.operations) {
      const { operationId, requestBody } = operation;
      for (const [mediaType, { schema }] of Object.entries(requestBody?.content ?? {})) {
        if (!mediaType.endsWith('json')) continue;
        expect([operationId, schema]).toEqual([operationId, { $ref: expect.any(String) }]);
      }
    }
  });

  it('gives every write an Idempotency-Key, and names X-Request-Id once for all', () => {
    const names = ['Idempotency-Key'];
    expect(document.info.description).toContain('`X-Request-Id`');
    for (const { method, operation } of api.operations) {
      const given = operation.parameters.map((parameter) => api.resolve<Json>(parameter as Json));
      const changes = method !== 'GET' || operation.operationId.endsWith('ByGet');
      // What a sign-in answers with is a secret, which is not kept.
      const isSignIn = operation.operationId === 'createSession';
      const headers = given.map(({ name }) => name).filter((name) => names.includes(String(name)));
      expect([operation.operationId, new Set(headers)]).toEqual([
        operation.operationId,
        new Set(changes && !isSignIn ? names : []),
      ]);
    }
  });

  it.each([
    ['/certificates', 'mdm.webcrt', 'CN=mdm.example.com'],
    ['/ca_certificates', undefined, 'CN=Example CA'],
    ['/push_certificates', undefined, 'UID=com.apple.mgmt.'],
    ['/ssl_certificates', undefined, 'CN=mdm.example.com'],
  ])('has an example for %s that is accepted there', async (path, purpose, subject) => {
    const { requestBody } = api.find(`POST /api/v1${path}`).operation;
    const [example] = Object.values(
      requestBody?.content['application/vnd.api+json']?.examples ?? {},
    );
    const { value } = api.resolve<{ value: CertificateBody }>(example ?? { $ref: '' });
    const { attributes } = value.data;
    expect(attributes.purpose).toBe(purpose);
    const certificate = new X509Certificate(attributes.pem_certificate);
    expect(certificate.subject).toContain(subject);
    expect(new Date(certificate.validTo).getUTCFullYear()).toBe(2099);
    const headers = { Authorization: `Bearer ${ADMIN_TOKEN}`, 'Content-Type': 'application/json' };
    const body = JSON.stringify(value);
    const created = await fetch(`${app.url}/api/v1${path}`, { method: 'POST', headers, body });
    const { data } = (await created.json()) as { data: [{ id: number }] };
    expect(created.status).toBe(201);
    expect(data).toMatchObject([
      { type: 'certificates', attributes: { pem_certificate: attributes.pem_certificate } },
    ]);
    const one = `${app.url}/api/v1/certificates/${data[0].id}`;
    expect((await fetch(one, { method: 'DELETE', headers })).status).toBe(204);
  });

  it('lists the numbers that settings allow', () => {
    expect(document.components.schemas?.scep_configurations_attributes).toMatchObject({
      properties: {
        key_size: { type: ['integer', 'null'], enum: [2048, 4096, null] },
        key_usage: { type: ['integer', 'null'], enum: [1, 4, 5, null] },
      },
    });
  });

  it('has the parameter force on the operations that store a certificate, and on no other', () => {
    const force = { $ref: '#/components/parameters/certificates_force' };
    expect(document.components.parameters?.certificates_force).toMatchObject({
      name: 'force',
      in: 'query',
      schema: { type: 'boolean', default: false },
    });
    const operations = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).flatMap(([method, operation]) => {
        const parameters = operation.parameters as { $ref?: string }[] | undefined;
        return parameters?.some(({ $ref }) => $ref === force.$ref) ? [`${method} ${path}`] : [];
      }),
    );
    expect(operations.sort()).toEqual([
      'patch /api/v1/certificates/{id}',
      'post /api/v1/ca_certificates',
      'post /api/v1/certificate_signing_requests/{id}/certificates',
      'post /api/v1/certificates',
      'post /api/v1/push_certificates',
      'post /api/v1/rsa_private_keys/{id}/certificates',
      'post /api/v1/ssl_certificates',
    ]);
  });

  it('offers no secret to sort, filter or select by, and shows none', () => {
    for (const { type, attributes } of DEFINITIONS as ResourceDefinition[]) {
      const secrets = Object.keys(attributes).filter((name) => attributes[name]?.writeOnly);
      const parts = [
        ...['sort', 'filter', 'fields'].map(
          (name) => document.components.parameters?.[`${type}_${name}`],
        ),
        document.components.schemas?.[`${type}_attributes`],
      ];
      for (const name of secrets) {
        expect([type, name, new RegExp(`["\`]${name}["\`]`).test(JSON.stringify(parts))]).toEqual([
          type,
          name,
          false,
        ]);
      }
    }
  });

  it('is small enough to load', () => {
    // 1.66 kB an operation; clients' generators and readers load all of it.
    expect(text.length / api.operations.length).toBeLessThan(1_660);
  });
});

function tagWith(attributes: Record<string, unknown>) {
  return { data: { type: 'tags', attributes } };
}
