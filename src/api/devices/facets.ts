import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { contextOf } from '../../http/requests/request-context.js';
import { formatTimestamp } from '../../jsonapi/definition/values.js';
import { JSONAPI } from '../../jsonapi/documents/document.js';
import { withAdvice } from '../../jsonapi/documents/list-advice.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { invalidParameter } from '../../jsonapi/query/parameters.js';
import { parseFilterQuery } from '../../jsonapi/query/query.js';
import { queryOf } from '../../jsonapi/router.js';
import type { Facet } from '../../jsonapi/store.js';
import { devices } from '../../resources/devices/devices.js';
import { metaDocumentSchema } from '../action-document.js';
import {
  type ApiOperation,
  type ApiParameter,
  type ApiRoute,
  jsonApiContent,
} from '../api-route.js';

export interface FacetRouteDeps {
  api: ApiContext;
}

const PATH = '/devices/facets';
/** Attributes with few values. */
const FACETS = [
  'platform',
  'os_version',
  'model',
  'model_name',
  'product_name',
  'health',
  'enrollment_state',
  'enrollment_type',
  'enrollment_method',
  'push_state',
  'is_enrolled',
  'is_supervised',
  'is_dep',
  'passcode_present',
  'fde_enabled',
  'firewall_enabled',
  'is_activation_lock_enabled',
  'is_mdm_lost_mode_enabled',
  'awaiting_configuration',
] as const;
const MAX_NAMES = 8;
const MAX_VALUES = 50;

/** A count is used again for so long, and for longer where it took longer than a twentieth of that. */
const KEPT_MS = 5_000;
const KEPT_PER_DURATION = 20;
const MAX_KEPT = 200;

const META = {
  meta: z.strictObject({
    total: z.int().describe('The devices that match.'),
    facets: z
      .record(
        z.string(),
        z.array(
          z.strictObject({
            value: z.union([z.string(), z.boolean(), z.null()]).describe('null: without a value.'),
            count: z.int(),
          }),
        ),
      )
      .describe(`For each attribute its ${MAX_VALUES} most frequent values.`),
    other: z
      .record(z.string(), z.int())
      .describe('For each attribute the devices with other values.'),
    counted_at: z.string().meta({ format: 'date-time' }).describe('When they were counted.'),
  }),
};

const BY: ApiParameter = {
  name: 'by',
  in: 'query',
  description: `The attributes, with commas; at most ${MAX_NAMES}.`,
  schema: {
    type: 'array',
    items: { type: 'string', enum: [...FACETS] },
    minItems: 1,
    maxItems: MAX_NAMES,
    default: ['platform'],
  },
};

interface Counted {
  facets: Facet[];
  at: Date;
}

/** How many devices have which value, for charts and filters. */
export function facetRoutes({ api }: FacetRouteDeps): ApiRoute[] {
  const kept = new LRUCache<string, Counted>({ max: MAX_KEPT });
  const GET: ApiOperation = {
    operationId: 'countDeviceFacets',
    tag: 'devices',
    role: 'viewer',
    summary: 'Count devices by their attributes',
    description: 'Takes the filters of `GET /devices`.',
    parameters: [BY, { $ref: '#/components/parameters/filter' }],
    answers: [
      {
        status: 200,
        description: 'The counts.',
        content: [jsonApiContent(metaDocumentSchema(META))],
      },
    ],
    errors: [400],
    handlers: [
      async (req, res) => {
        const meta = metaOf(await countedFor(api, kept, { req, actor: contextOf(res).actor }));
        const links = { self: api.basePath + PATH };
        sendAnswer(req, res, { status: 200, document: { meta, links, jsonapi: JSONAPI } });
      },
    ],
  };
  return [{ path: PATH, methods: { GET } }];
}

async function countedFor(
  { registry, store }: ApiContext,
  kept: LRUCache<string, Counted>,
  { req, actor }: { req: Request; actor: ReturnType<typeof contextOf>['actor'] },
): Promise<Counted> {
  let names = ['platform'];
  const readers = {
    by: (value: string) => {
      names = namesIn(value);
    },
  };
  const query = queryOf(req.url);
  const filter = parseFilterQuery(query, { definition: devices, readers }, { registry, actor });
  query.delete('by');
  const key = JSON.stringify([actor.role, names, [...query]]);
  const known = kept.get(key);
  if (known !== undefined) return known;
  const started = performance.now();
  const caller = { account: `${actor.role}:${actor.name}` };
  const asked = { shape: devices, filter, names, most: MAX_VALUES, caller };
  const facets = await store.countFacets(asked).catch((error: unknown) => {
    throw withAdvice(error, { filter, sort: [], page: { number: 1, size: 1 }, totalMode: 'none' });
  });
  const counted = { facets, at: new Date() };
  const ttl = Math.max(KEPT_MS, KEPT_PER_DURATION * (performance.now() - started));
  kept.set(key, counted, { ttl: Math.ceil(ttl) });
  return counted;
}

function namesIn(value: string): string[] {
  const names = [...new Set(value.split(','))];
  const unknown = names.find((name) => !FACETS.some((known) => known === name));
  if (unknown !== undefined) {
    const message = `devices are not counted by "${unknown}"; known: ${FACETS.join(', ')}`;
    throw invalidParameter('by', message);
  }
  if (names.length <= MAX_NAMES) return names;
  throw invalidParameter('by', `by takes at most ${MAX_NAMES} attributes`);
}

function metaOf({ facets, at }: Counted): Record<string, unknown> {
  return {
    total: facets[0]?.total ?? 0,
    facets: Object.fromEntries(facets.map(({ name, values }) => [name, values])),
    other: Object.fromEntries(facets.map(({ name, other }) => [name, other])),
    counted_at: formatTimestamp(at),
  };
}
