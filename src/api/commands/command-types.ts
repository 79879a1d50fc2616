import type { Request, RequestHandler, Response } from 'express';
import {
  conditionsOf,
  keysOf,
  commandTypes as readCommandTypes,
} from '../../commands/command-types.js';
import type { Database } from '../../db/connection/database.js';
import { findTarget } from '../../db/devices/device-repository.js';
import { AppError } from '../../errors.js';
import { contextOf } from '../../http/requests/request-context.js';
import { CSV_MEDIA_TYPE } from '../../jsonapi/documents/csv.js';
import { MEDIA_TYPE } from '../../jsonapi/documents/document.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import { prefersCsv, sendExport } from '../../jsonapi/documents/send-export.js';
import {
  type Catalogue,
  type CatalogueRequest,
  catalogueCsv,
  catalogueItem,
  catalogueList,
} from '../../jsonapi/operations/catalogue.js';
import { queryOf } from '../../jsonapi/router.js';
import {
  commandTypes,
  commandTypesOfDevice,
  FOR_DEVICE,
} from '../../resources/commands/command-types.js';
import {
  type ApiAnswer,
  type ApiParameter,
  type ApiRoute,
  itemSchema,
  jsonApiContent,
  listSchema,
} from '../api-route.js';
import { parameterRef } from '../openapi/operations/parameters.js';
import { integerParameter } from '../request-parts.js';

export interface CommandTypeDeps {
  db: Database;
  api: { basePath: string };
}

const TAG = 'command_types';
const DEVICE: ApiParameter = {
  name: 'device',
  in: 'query',
  description:
    'The id of a device: adds `eligible` and `reasons`, which then can be selected, filtered and sorted by.',
  schema: { type: 'integer', minimum: 1, maximum: 999_999_999 },
};
const FIELDS: ApiParameter = {
  name: 'fields[command_types]',
  in: 'query',
  description: 'Only these attributes, with commas between them.',
  schema: { type: 'string' },
};
const NOT_MODIFIED: ApiAnswer = { status: 304, description: 'The client has it already.' };

/** Apple's commands as a catalogue: what a form for any of them needs. */
export function commandTypeRoutes(deps: CommandTypeDeps): ApiRoute[] {
  const shared = { tag: TAG, role: 'viewer' as const, errors: [400, 404] };
  const list = {
    ...shared,
    operationId: 'listCommandTypes',
    summary: "List Apple's commands",
    description: "Apple's schema of OS 27, and who may queue each command.",
    parameters: [
      ...['page', 'command_types_sort', 'filter'].map(parameterRef),
      FIELDS,
      DEVICE,
      parameterRef('if_none_match'),
    ],
    answers: [shownAlsoAsCsv(shown('The commands.', listSchema(TAG))), NOT_MODIFIED],
    handlers: [
      handler(deps, (catalogue, request) => catalogueList(catalogue, request), catalogueCsv),
    ],
  };
  const item = {
    ...shared,
    operationId: 'getCommandType',
    summary: "Get one of Apple's commands",
    description: 'Its keys with types, ranges and defaults, and the keys of its answer.',
    parameters: [FIELDS, DEVICE, parameterRef('if_none_match')],
    answers: [shown('The command.', itemSchema(TAG)), NOT_MODIFIED],
    handlers: [
      handler(deps, (catalogue, request, name) => catalogueItem(catalogue, { ...request, name })),
    ],
  };
  const names = { request_type: { type: 'string', examples: ['DeviceLock'] } };
  return [
    { path: commandTypes.path, methods: { GET: list } },
    { path: `${commandTypes.path}/{request_type}`, pathSchemas: names, methods: { GET: item } },
  ];
}

function shown(description: string, schema: Record<string, unknown>): ApiAnswer {
  return { status: 200, description, content: [jsonApiContent(schema)] };
}

function shownAlsoAsCsv({ content = [], ...answer }: ApiAnswer): ApiAnswer {
  return {
    ...answer,
    content: [...content, { mediaType: CSV_MEDIA_TYPE, schema: { type: 'string' } }],
  };
}

type Answerer = (
  catalogue: Catalogue,
  request: CatalogueRequest,
  name: string,
) => ReturnType<typeof catalogueList>;

function handler(
  { db, api }: CommandTypeDeps,
  answer: Answerer,
  exporter?: typeof catalogueCsv,
): RequestHandler {
  return async (req: Request, res: Response) => {
    const device = integerParameter(req, DEVICE.name);
    requireDevice(req.url, device);
    const catalogue = await readCatalogue(db, device);
    const request = {
      actor: contextOf(res).actor,
      query: queryOf(req.url),
      basePath: api.basePath,
      ownParameters: [DEVICE.name],
    };
    if (exporter !== undefined && prefersCsv(req, MEDIA_TYPE)) {
      await sendExport(req, res, exporter(catalogue, request));
    } else sendAnswer(req, res, answer(catalogue, request, String(req.params.request_type)));
  };
}

/** AppError 400 where an attribute is named that only the catalogue for one device has. */
function requireDevice(url: string, device: number | undefined): void {
  if (device !== undefined) return;
  for (const name of Object.keys(FOR_DEVICE)) {
    const parameter = `filter[${name}]`;
    if (!queryOf(url).has(parameter)) continue;
    const message = `"${name}" is known for one device only: add the parameter device=ID`;
    throw new AppError('invalid_parameter', 400, message, { source: { parameter } });
  }
}

async function readCatalogue({ knex }: Database, device: number | undefined): Promise<Catalogue> {
  if (device === undefined) return catalogueOf(commandTypes, readCommandTypes());
  const target = await findTarget(knex, device);
  if (target === undefined) {
    const message = `devices ${device} does not exist; GET /api/v1/devices lists all`;
    throw new AppError('not_found', 404, message, { source: { parameter: DEVICE.name } });
  }
  return catalogueOf(commandTypesOfDevice, readCommandTypes(target));
}

function catalogueOf(definition: typeof commandTypes, rows: Catalogue['rows']): Catalogue {
  return {
    definition: definition as Catalogue['definition'],
    rows,
    services: { conditionsOf, keysOf },
  };
}
