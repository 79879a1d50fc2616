import createClient from 'openapi-fetch';
import { reach } from './connection';
import { ApiError, type Fault, isApiError } from './errors';
import { KnownAnswers } from './known-answers';
import { type Query, queryString } from './query-string';
import { type Occasion, signInAgain } from './reauthentication';
import type { components, paths } from './schema';

export type Schemas = components['schemas'];

const MEDIA_TYPE = 'application/vnd.api+json';
const IDLE_AFTER = 60_000;

let lastInput = Date.now();
for (const name of ['pointerdown', 'keydown']) {
  globalThis.addEventListener?.(name, () => {
    lastInput = Date.now();
  });
}

/** Reads that nobody caused do not put off the idle end of the session. */
function cause(method: string): string {
  return method === 'GET' && Date.now() - lastInput > IDLE_AFTER ? 'background' : '1';
}

export const client = createClient<paths>({
  baseUrl: '/api/v1',
  fetch: reach,
  headers: { accept: MEDIA_TYPE },
  querySerializer: (query) => queryString(query as Query),
});
client.use({
  onRequest({ request }) {
    request.headers.set('X-Muster-Console', cause(request.method));
    if (request.method !== 'GET') request.headers.set('Content-Type', MEDIA_TYPE);
    return request;
  },
});

/** Lists are read every few seconds: those that have not changed cost no body. */
export const knownAnswers = new KnownAnswers();
client.use({
  onRequest: (exchange) => knownAnswers.onRequest(exchange),
  onResponse: (exchange) => knownAnswers.onResponse(exchange),
});

interface Result<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/**
 * The document of an answer, or an ApiError. Where the session has ended or the API wants a recent sign-in,
 * it asks to sign in again and then repeats the request.
 */
export async function call<T>(send: () => Promise<Result<T>>): Promise<T> {
  try {
    return await callOnce(send);
  } catch (failure) {
    const occasion = occasionOf(failure);
    if (occasion === undefined || !(await signInAgain(occasion))) throw failure;
    return call(send);
  }
}

/** The same, for the session itself: it does not ask to sign in again. */
export async function callOnce<T>(send: () => Promise<Result<T>>): Promise<T> {
  const { data, error, response } = await send();
  if (response.ok) return data as T;
  const faults = (error as { errors?: Fault[] } | undefined)?.errors ?? [];
  throw new ApiError(response.status, faults);
}

function occasionOf(failure: unknown): Occasion | undefined {
  if (isApiError(failure, 'reauthentication_required')) return 'recent';
  return isApiError(failure) && failure.status === 401 ? 'ended' : undefined;
}
