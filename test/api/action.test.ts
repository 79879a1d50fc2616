import express, { type Express } from 'express';
import request from 'supertest';
import { z } from 'zod';
import { action } from '../../src/api/action.js';
import { mountRoutes } from '../../src/api/api-route.js';
import { ResourceStore } from '../../src/db/store/resource-store.js';
import { writeAudit } from '../../src/events/audit.js';
import { jsonApiErrorHandler } from '../../src/http/errors/json-api-errors.js';
import type { RequestContext } from '../../src/jsonapi/context.js';
import type { ResourceDefinition } from '../../src/jsonapi/definition/definition.js';
import { buildApiContext } from '../../src/jsonapi/router.js';
import { createLogger } from '../../src/logger.js';
import { DEFINITIONS } from '../../src/resources/index.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';

let database: TestDatabase;
let app: Express;

beforeAll(async () => {
  database = await createTestDatabase();
  const { db } = database;
  const store = new ResourceStore(db, Buffer.alloc(32));
  const definitions = DEFINITIONS as ResourceDefinition[];
  const api = buildApiContext({ definitions, store, audit: writeAudit, services: {} });
  /** Writes before it knows whether its tag exists, as an action may. */
  const paint = action(api, {
    method: 'POST',
    path: '/tags/{id}/paint',
    operationId: 'paintTag',
    tag: 'tags',
    role: 'operator',
    summary: 'Paint a tag',
    description: 'Gives the tag a color, and black to all others.',
    body: { attributes: z.strictObject({ color: z.string().length(6) }), example: {} },
    answer: { status: 200, description: 'The tag.', shows: 'tags' },
    audit: { action: 'tags.paint', targetType: 'tags' },
    run: async (trx, { id, body: { color } }) => {
      await trx('tags').update({ color: '000000' });
      await trx('tags').where({ id }).update({ color });
      return { details: { color } };
    },
  });
  app = express();
  app.use((_req, res, next) => {
    const actor = { name: 'tester', role: 'operator' as const };
    const context: RequestContext = { requestId: 'request-1', actor, sourceAddress: null };
    Object.assign(res.locals, { context, requestId: context.requestId });
    next();
  });
  app.use(mountRoutes([paint]));
  app.use(jsonApiErrorHandler(createLogger('fatal')));
});
afterAll(() => database.drop());
beforeEach(() => database.db.knex('tags').delete());

async function tag(color: string): Promise<number> {
  const rows = await database.db.knex('tags').insert({ name: color, color }).returning('id');
  return Number(rows[0].id);
}

const paint = (id: number, body: object) => request(app).post(`/tags/${id}/paint`).send(body);

const stored = () => database.db.knex('tags').orderBy('id').pluck('color');
const events = () => database.db.knex('audit_events').where({ action: 'tags.paint' });

describe('an action that shows the resource of its path', () => {
  it('answers 404 for one that does not exist, and undoes what it wrote', async () => {
    const id = await tag('ff0000');
    const { status, body } = await paint(id + 1, { color: '00ff00' });
    expect([status, body.errors[0].code, body.errors[0].detail]).toEqual([
      404,
      'not_found',
      `tags ${id + 1} does not exist`,
    ]);
    expect(await stored()).toEqual(['ff0000']);
    expect(await events()).toEqual([]);
  });

  it.each([
    [{ data: {} }, '/data/attributes/color', 'color is required'],
    [{ data: { attributes: { colour: 'x' } } }, '/data/attributes/color', 'color is required'],
    [{ data: [] }, '/color', 'color is required'],
  ])('reports the place of the fault in %j', async (sent, pointer, detail) => {
    const { status, body } = await paint(await tag('ff0000'), sent);
    const [fault] = body.errors;
    expect([status, fault.source, fault.detail]).toEqual([422, { pointer }, detail]);
    expect(await stored()).toEqual(['ff0000']);
  });

  it('shows the resource after the action, and audits it', async () => {
    const id = await tag('ff0000');
    const { status, body } = await paint(id, { color: '00ff00' });
    expect([status, body.data.type, body.data.id]).toEqual([200, 'tags', id]);
    expect(body.data.attributes).toMatchObject({ name: 'ff0000', color: '00ff00' });
    expect(await events()).toMatchObject([
      { target_type: 'tags', target_id: String(id), outcome: 'success', actor: 'tester' },
    ]);
  });
});
