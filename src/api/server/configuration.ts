import type { RequestHandler } from 'express';
import { faultsOfSettings } from '../../commands/return-profiles.js';
import {
  lockSettings,
  readSettings,
  type SettingsTable,
  writeSettings,
} from '../../db/admin/settings-repository.js';
import type { Database } from '../../db/connection/database.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { validationError } from '../../errors.js';
import { contextOf } from '../../http/requests/request-context.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { changesOf } from '../../jsonapi/operations/changes.js';
import {
  checkIfMatch,
  faultsInBody,
  parseSingleton,
  type SingletonDefinition,
  type SingletonInput,
  singletonAnswer,
} from '../../jsonapi/operations/singleton.js';
import { performWrite, readIdempotency } from '../../jsonapi/requests/idempotency.js';
import { scepWarnings } from '../../pki/authority/external-authority.js';
import type { ResourceServices } from '../../resources/index.js';
import { organization } from '../../resources/server/organization.js';
import { returnToService } from '../../resources/server/return-to-service.js';
import { scepConfiguration } from '../../resources/server/scep-configuration.js';
import {
  type ApiOperation,
  type ApiRoute,
  itemSchema,
  jsonApiContent,
  jsonContent,
  writeSchema,
} from '../api-route.js';
import { refuseParameters, requiredJsonBody } from '../request-parts.js';

export interface ConfigurationDeps {
  db: Database;
  api: ApiContext;
  services: ResourceServices;
  /** Called once a change of the SCEP configuration is committed. */
  onScepChange: () => Promise<void>;
}

interface Setting {
  definition: SingletonDefinition<ResourceServices>;
  table: SettingsTable;
  /** In operationIds. */
  name: string;
  title: string;
  /** When a change takes effect, and what `meta.warnings` is about. */
  effect: string;
  onChange?: () => Promise<void>;
  /** Faults of what a request sets, by attribute. */
  faultsOf?: (attributes: Record<string, unknown>) => Record<string, string>;
  /** What does not work although it is allowed. */
  readWarnings?: (knex: Database['knex']) => Promise<string[]>;
}

const FOR_ENROLLMENT =
  'It applies from the next enrollment profile on. `meta.warnings` names what keeps devices from enrolling.';

/** The settings of which there is one each. POST and PATCH alike change what was sent. */
export function configurationRoutes(deps: ConfigurationDeps): ApiRoute[] {
  const home: Setting = {
    definition: organization,
    table: 'organizations',
    name: 'Organization',
    title: 'the home organization',
    effect: FOR_ENROLLMENT,
  };
  const scep: Setting = {
    definition: scepConfiguration,
    table: 'scep_configurations',
    name: 'ScepConfiguration',
    title: 'the SCEP enrollment configuration',
    effect: FOR_ENROLLMENT,
    onChange: deps.onScepChange,
    readWarnings: scepWarnings,
  };
  const returning: Setting = {
    definition: returnToService,
    table: 'return_to_service_settings',
    name: 'ReturnToService',
    title: 'how devices return to service',
    effect:
      'It applies from the next check-in ReturnToService, or the next EraseDevice, on. The profiles ' +
      'are sealed and never shown.',
    faultsOf: faultsOfSettings,
  };
  const readHome = readOperation(home, deps);
  return [
    settingRoute(home, deps),
    settingRoute(scep, deps),
    settingRoute(returning, deps),
    {
      path: '/organization',
      methods: { GET: { ...readHome, operationId: 'getHomeOrganization' } },
    },
  ];
}

function settingRoute(setting: Setting, deps: ConfigurationDeps): ApiRoute {
  const { definition, name } = setting;
  const write = writeOperation(setting);
  const POST: ApiOperation = {
    ...write,
    operationId: `set${name}`,
    handlers: [...write.handlers, writer(setting, deps, { isWhole: true })],
  };
  const PATCH: ApiOperation = {
    ...write,
    operationId: `update${name}`,
    handlers: [...write.handlers, writer(setting, deps, { isWhole: false })],
  };
  return { path: definition.path, methods: { GET: readOperation(setting, deps), POST, PATCH } };
}

function readOperation(setting: Setting, { db, api }: ConfigurationDeps): ApiOperation {
  const { definition, table, name, title, readWarnings } = setting;
  const read: RequestHandler = async (req, res) => {
    const row = await readSettings(db.knex, table);
    const warnings = (await readWarnings?.(db.knex)) ?? [];
    const context = contextOf(res);
    sendAnswer(req, res, singletonAnswer(api, definition, { context, row, warnings }));
  };
  return {
    operationId: `get${name}`,
    summary: `Get ${title}`,
    description: 'The defaults until it is written for the first time.',
    tag: 'configuration',
    role: 'viewer',
    answers: [answerOf(setting)],
    errors: [400],
    handlers: [refuseParameters, read],
  };
}

function writeOperation(setting: Setting) {
  const { definition, title, effect } = setting;
  return {
    summary: `Update ${title}`,
    description:
      'The body is a JSON:API document or its attributes alone. Absent attributes stay unchanged, ' +
      `null restores the default. ${effect}`,
    tag: 'configuration',
    role: 'admin' as const,
    requestBody: { required: true, content: jsonContent(writeSchema(definition.type)) },
    answers: [answerOf(setting)],
    errors: [400, 409, 412, 413, 415, 422],
    handlers: [refuseParameters, ...requiredJsonBody],
  };
}

function answerOf({ definition, title }: Setting) {
  const content = [jsonApiContent(itemSchema(definition.type))];
  return { status: 200, description: `The document of ${title}.`, content };
}

// Not an `action`: If-Match is compared with the ETag of the settings, and changes are audited in full.
/** `isWhole`: the first write must name what is required. */
function writer(
  setting: Setting,
  deps: ConfigurationDeps,
  { isWhole }: { isWhole: boolean },
): RequestHandler {
  const { api } = deps;
  const { definition, onChange, readWarnings } = setting;
  return async (req, res) => {
    const input = parseSingleton(req.body, definition);
    const ifMatch = req.get('if-match');
    const context = contextOf(res);
    const work = async (trx: Transaction) => {
      const { before, row } = await change(trx, { setting, deps, input, ifMatch, isWhole });
      await api.audit(trx, {
        context,
        action: `${definition.type}.update`,
        targetType: definition.type,
        targetId: row.id,
        outcome: 'success',
        changes: changesOf(definition, {
          services: deps.services,
          before,
          after: row,
          input: { attributes: input.attributes, toOne: {}, toMany: {} },
        }),
      });
      const warnings = (await readWarnings?.(trx)) ?? [];
      return singletonAnswer(api, definition, { context, row, warnings });
    };
    const idempotency = readIdempotency(req);
    const answer = await performWrite(api.store, { context, idempotency, work });
    await onChange?.();
    sendAnswer(req, res, answer);
  };
}

interface Change {
  setting: Setting;
  deps: ConfigurationDeps;
  input: SingletonInput;
  ifMatch: string | undefined;
  isWhole: boolean;
}

async function change(trx: Transaction, { setting, deps, input, ifMatch, isWhole }: Change) {
  const { definition, table } = setting;
  const { attributes } = input;
  const { row, isNew } = await lockSettings(trx, table);
  checkIfMatch(definition, row, ifMatch);
  const columns = definition.columnsOf?.(attributes, deps.services) ?? attributes;
  const written = await writeSettings(trx, table, columns);
  const missing = isWhole && isNew ? missingFaults(definition, attributes) : {};
  const faults = {
    ...missing,
    ...setting.faultsOf?.(attributes),
    ...definition.faultsOf?.(written),
  };
  if (Object.keys(faults).length > 0) throw validationError(faultsInBody(faults, input));
  return { before: row, row: written };
}

function missingFaults(
  { attributes }: SingletonDefinition<ResourceServices>,
  given: Record<string, unknown>,
): Record<string, string> {
  const missing = Object.entries(attributes).filter(
    ([name, { required }]) => required && !Object.hasOwn(given, name),
  );
  return Object.fromEntries(missing.map(([name]) => [name, `${name} is required`]));
}
