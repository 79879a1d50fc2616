import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import express from 'express';
import type { Knex } from 'knex';
import { CommandQueue } from '../../src/commands/queue.js';
import { SecretBox } from '../../src/crypto/secrets/secret-box.js';
import { ResourceStore } from '../../src/db/store/resource-store.js';
import { auditOfCreated, writeAudit } from '../../src/events/audit.js';
import { jsonApiErrorHandler, noSuchRoute } from '../../src/http/errors/json-api-errors.js';
import type { RequestContext, Role } from '../../src/jsonapi/context.js';
import type { ResourceDefinition } from '../../src/jsonapi/definition/definition.js';
import { buildApiContext, createJsonApiRouter } from '../../src/jsonapi/router.js';
import { createLogger } from '../../src/logger.js';
import type { ResourceServices } from '../../src/resources/index.js';
import { DEFINITIONS } from '../../src/resources/index.js';
import { createResourceServices } from '../../src/server/resource-services.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';
import { noteListStatements } from '../helpers/list-statements.js';
import { PASSWORD_COST } from '../helpers/password-cost.js';

const PUBLIC_URL = 'https://mdm.example.com';

export interface TestApi {
  app: Server;
  /** Another server over the same database, as another process has one. */
  other: Server;
  knex: Knex;
  /** Statements sent while `work` runs, transaction control left out. */
  statements<T>(work: () => Promise<T>): Promise<{ result: T; sql: string[] }>;
  close(): Promise<void>;
}

export interface TestApiOptions {
  /** The product's own by default. */
  definitions?: ResourceDefinition[];
  /** Tables besides the product's. */
  schema?: string;
  /** Called after each commit that made pushes due. */
  wake?: () => void;
}

/** Resources over a real database; `X-Role` and `X-Actor` set the actor (the admin tester by default). */
export async function createTestApi(options: TestApiOptions = {}): Promise<TestApi> {
  const { definitions = DEFINITIONS as ResourceDefinition[], schema, wake } = options;
  const database = await createTestDatabase();
  const { knex } = database.db;
  if (schema !== undefined) await knex.raw(schema);
  const statements = async <T>(work: () => Promise<T>) => {
    const sql: string[] = [];
    const note = (query: { sql: string }) => {
      if (!/^(BEGIN|COMMIT|ROLLBACK)/.test(query.sql)) sql.push(query.sql);
    };
    knex.on('query', note);
    const forget = noteListStatements(database.db, (text) => note({ sql: text }));
    try {
      return { result: await work(), sql };
    } finally {
      knex.removeListener('query', note);
      forget();
    }
  };
  const app = await startServer(database, { definitions, wake });
  const other = await startServer(database, { definitions, wake });
  const close = async () => {
    for (const server of [app, other]) server.close();
    await database.drop();
  };
  return { app, other, knex, statements, close };
}

async function startServer(
  { db }: TestDatabase,
  { definitions, wake }: { definitions: ResourceDefinition[]; wake: TestApiOptions['wake'] },
) {
  const box = new SecretBox(randomBytes(32));
  const api = buildApiContext({
    definitions: definitions as ResourceDefinition<ResourceServices>[],
    store: new ResourceStore(db, Buffer.alloc(32)),
    audit: writeAudit,
    auditPart: auditOfCreated,
    services: createResourceServices({
      box,
      queue: new CommandQueue(box, wake),
      publicUrl: PUBLIC_URL,
      passwordCost: PASSWORD_COST,
    }),
  });
  const app = express();
  app.use((req, res, next) => {
    const role = (req.header('x-role') ?? 'admin') as Role;
    const actor = { name: req.header('x-actor') ?? 'tester', role };
    const context: RequestContext = { requestId: 'request-1', actor, sourceAddress: '192.0.2.1' };
    Object.assign(res.locals, { context, requestId: context.requestId });
    next();
  });
  app.use('/api/v1', createJsonApiRouter(api));
  app.use(noSuchRoute);
  app.use(jsonApiErrorHandler(createLogger('fatal')));
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
