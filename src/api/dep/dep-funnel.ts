import type { Request, Response } from 'express';
import type { Database } from '../../db/connection/database.js';
import { toAppError } from '../../db/connection/sqlstate.js';
import { type DepFunnel, readFunnel } from '../../db/dep/dep-device-funnel.js';
import { notFound } from '../../errors.js';
import { type Document, JSONAPI } from '../../jsonapi/documents/document.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { type ApiOperation, type ApiRoute, jsonApiContent, type Schema } from '../api-route.js';

import { pathId, refuseParameters } from '../request-parts.js';

export interface DepFunnelRouteDeps {
  db: Database;
  engine: ApiContext;
}

/** How far the devices of an account have come. */
export function depFunnelRoutes(deps: DepFunnelRouteDeps): ApiRoute[] {
  const GET: ApiOperation = {
    operationId: 'readDepFunnel',
    tag: 'dep_accounts',
    role: 'viewer',
    summary: 'Count the devices of an account by how far they have come',
    description:
      'From unassigned by assigned (Apple has a profile for it), pushed (the device has fetched ' +
      'it) and contacted (it has asked this server) to enrolled. `/dep/devices` lists them: ' +
      '`?filter[stage]=assigned`.',
    answers: [{ status: 200, description: 'The counts.', content: [jsonApiContent(schema())] }],
    errors: [400, 404],
    handlers: [refuseParameters, (req, res) => answer(deps, req, res)],
  };
  return [{ path: '/dep/accounts/{id}/funnel', methods: { GET } }];
}

async function answer({ db, engine }: DepFunnelRouteDeps, req: Request, res: Response) {
  const id = pathId(req, 'dep_accounts');
  const funnel = await readFunnel(db, id).catch((error: unknown) => {
    throw toAppError(error);
  });
  if (funnel === undefined) throw notFound(`dep_accounts ${id}`);
  sendAnswer(req, res, { status: 200, document: documentOf(funnel, id, engine.basePath) });
}

function documentOf(funnel: DepFunnel, id: number, basePath: string): Document {
  const { stages, notListed, failing, assignmentDue } = funnel;
  const { removed, ...present } = stages;
  const total = Object.values(present).reduce((sum, count) => sum + count, 0);
  const contacted = present.enrolled + present.contacted;
  const pushed = contacted + present.pushed;
  const attributes = {
    stages,
    ...{ total, assigned_or_beyond: pushed + present.assigned, pushed_or_beyond: pushed },
    ...{ contacted_or_beyond: contacted, enrolled: present.enrolled, removed },
    ...{ not_listed: notListed, failing, assignment_due: assignmentDue },
  };
  const links = { self: `${basePath}/dep/accounts/${id}/funnel` };
  return { data: { type: 'dep_funnels', id, attributes, links }, links, jsonapi: JSONAPI };
}

function counts(described: Record<string, string>): Schema {
  const properties = Object.entries(described).map(([name, description]) => [
    name,
    { type: 'integer', minimum: 0, description },
  ]);
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: Object.keys(described),
    additionalProperties: false,
  };
}

const STAGES = counts({
  unassigned: 'Apple has no profile for them.',
  assigned: 'Apple has a profile, and the device has not fetched it.',
  pushed: 'The device has fetched it.',
  contacted: 'It has asked this server for its enrollment since.',
  enrolled: 'It is enrolled.',
  removed: 'Apple lists them no longer.',
});

function schema(): Schema {
  const attributes = counts({
    total: 'All that Apple lists, in whatever stage but `removed`.',
    assigned_or_beyond: 'Assigned, pushed, contacted or enrolled.',
    pushed_or_beyond: 'Pushed, contacted or enrolled.',
    contacted_or_beyond: 'Contacted or enrolled.',
    enrolled: 'As in `stages`.',
    removed: 'As in `stages`.',
    not_listed:
      'Assigned here, though Apple has never listed them in the account: counted in no stage.',
    failing: 'With a `last_error`, listed or not.',
    assignment_due:
      'Of which Apple is still to be told the profile; without those whose profile it does not have.',
  });
  const links = { $ref: '#/components/schemas/resource_links' };
  const data = {
    type: 'object',
    properties: {
      type: { type: 'string', enum: ['dep_funnels'] },
      id: { $ref: '#/components/schemas/id' },
      attributes: {
        ...attributes,
        properties: { stages: STAGES, ...(attributes.properties as Schema) },
        required: ['stages', ...(attributes.required as string[])],
      },
      links,
    },
    required: ['type', 'id', 'attributes', 'links'],
    additionalProperties: false,
  };
  const jsonapi = { $ref: '#/components/schemas/jsonapi' };
  return {
    type: 'object',
    properties: { data, links, jsonapi },
    required: ['data', 'links', 'jsonapi'],
    additionalProperties: false,
  };
}
