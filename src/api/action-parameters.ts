import type { Request } from 'express';
import { AppError } from '../errors.js';
import { hasRole, type RequestContext, type Role } from '../jsonapi/context.js';
import { readConfirmation } from '../jsonapi/requests/confirmation.js';
import { isObject } from '../jsonapi/requests/input.js';
import type { ApiParameter } from './api-route.js';
import { booleanParameter } from './request-parts.js';

/** A query parameter that is true or false; false where it is left out. */
export interface ActionFlag {
  description: string;
  /** Needed to set it, where the role of the action is not enough. */
  role?: Role;
}

/** The query parameters of an action. */
interface Parameters<Flag extends string> {
  flags?: Record<Flag, ActionFlag> | undefined;
  confirms?: true | undefined;
}

/** How the API document describes them. */
export function actionParameters({ flags = {}, confirms }: Parameters<string>): ApiParameter[] {
  return [...flagParameters(flags), ...(confirms ? [CONFIRM] : [])];
}

const CONFIRM: ApiParameter = {
  name: 'confirm',
  in: 'query',
  description: 'The number of devices that may be changed; also as `meta.confirm` of the document.',
  schema: { type: 'integer', minimum: 0 },
};

function flagParameters(flags: Record<string, ActionFlag>): ApiParameter[] {
  return Object.entries(flags).map(([name, { description }]) => ({
    name,
    in: 'query' as const,
    description,
    schema: { type: 'boolean', default: false },
  }));
}

/** What the client has confirmed, and the body without it. */
export function confirmationOf(
  { confirms }: Pick<Parameters<string>, 'confirms'>,
  { query, body }: Request,
): { confirm: number | undefined; given: unknown } {
  if (confirms === undefined) return { confirm: undefined, given: body };
  const values = [query.confirm ?? []].flat().map(String);
  const confirm = readConfirmation(values, body);
  if (!isObject(body) || 'data' in body) return { confirm, given: body };
  const { meta: _, ...given } = body;
  return { confirm, given };
}

/** AppError 403 for a flag that needs a higher role. */
export function readFlags<Flag extends string>(
  flags: Record<Flag, ActionFlag> | undefined,
  req: Request,
  { actor }: RequestContext,
): Record<Flag, boolean> {
  const entries = Object.entries<ActionFlag>(flags ?? {}).map(([name, { role }]) => {
    const isSet = booleanParameter(req, name);
    if (isSet && role !== undefined && !hasRole(actor, role)) {
      throw new AppError('forbidden', 403, `${name}=true needs the role ${role}`);
    }
    return [name, isSet];
  });
  return Object.fromEntries(entries);
}
