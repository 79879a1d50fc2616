import type { Request } from 'express';
import { notFound } from '../../errors.js';
import { parseId } from '../../jsonapi/definition/values.js';

/** The `{id}` of the path; AppError 404 naming `what` when it is none. */
export function pathId({ params }: Request, what: string): number {
  const given = String(params.id);
  const id = parseId(given);
  if (id === undefined) throw notFound(`${what} ${given}`);
  return id;
}
