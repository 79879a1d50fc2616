import type { Transaction } from '../context.js';
import type { Answer, ApiContext, ApiRequest } from '../handler.js';
import { invalidParameter } from '../query/parameters.js';
import { performWrite } from './idempotency.js';
import { invalidDocument, isObject } from './input.js';
import { requireRecentSignIn } from './recent-sign-in.js';

const PARAMETER = 'confirm';

/** A request without its confirmation, and the number of devices that it confirms. */
export interface Confirmed {
  request: ApiRequest;
  confirm: number | undefined;
}

/**
 * `meta.confirm` of the document, or `?confirm=N` where there is none. AppError 400 or 422; 403 for a session
 * that has not signed in recently.
 */
export function extractConfirmation(request: ApiRequest): Confirmed {
  const { body, query } = request;
  const given = query.getAll(PARAMETER);
  const confirm = readConfirmation(given, body);
  if (confirm !== undefined) requireRecentSignIn(request.context.actor);
  if (given.length === 0) return { request: { ...request, confirm }, confirm };
  const rest = new URLSearchParams(query);
  rest.delete(PARAMETER);
  return { request: { ...request, query: rest, confirm }, confirm };
}

/** The same of the values of the parameter, and the body. */
export function readConfirmation(given: readonly string[], body: unknown): number | undefined {
  if (given.length > 0) {
    const [value = ''] = given;
    if (given.length > 1 || !/^\d{1,9}$/.test(value)) {
      throw invalidParameter(PARAMETER, 'confirm must be one whole number of devices');
    }
    return Number(value);
  }
  const meta = isObject(body) && isObject(body.meta) ? body.meta : {};
  const { confirm } = meta;
  if (confirm === undefined) return undefined;
  if (typeof confirm === 'number' && Number.isSafeInteger(confirm) && confirm >= 0) return confirm;
  throw invalidDocument('/meta/confirm', 'meta.confirm must be a whole number of devices');
}

/** Runs a write in one transaction, and has its effect checked before the commit. */
export function performConfirmed(
  api: ApiContext,
  { request, confirm }: Confirmed,
  work: (trx: Transaction) => Promise<Answer>,
): Promise<Answer> {
  const checked = async (trx: Transaction) => {
    const answer = await work(trx);
    await api.effectCheck?.check(trx, confirm);
    return answer;
  };
  return performWrite(api.store, { ...request, work: checked });
}
