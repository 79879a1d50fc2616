import { mutationOptions, queryOptions } from '@tanstack/react-query';
import { client, documentOf } from '../../api/client.js';
import { queryString } from '../../api/query-string.js';

const FRESH_EVERY = 5000;
const COMMANDS = 30;

export interface Finding {
  code: string;
  severity: 'stuck' | 'attention' | 'info';
  since: string;
  message: string;
  advice: string;
  action: Action | null;
}

/** A request that the diagnosis proposes. */
export interface Action {
  method: string;
  path: string;
  body: Record<string, unknown> | null;
}

export function device(id: number) {
  return queryOptions({
    queryKey: ['device', id],
    queryFn: async ({ signal }) => {
      const params = { path: { id } };
      return documentOf(await client.GET('/api/v1/devices/{id}', { params, signal })).data;
    },
    refetchInterval: FRESH_EVERY,
  });
}

export function findings(id: number) {
  return queryOptions({
    queryKey: ['device', id, 'diagnosis'],
    queryFn: async ({ signal }) => {
      const params = { path: { id } };
      const answer = await client.GET('/api/v1/devices/{id}/diagnosis', { params, signal });
      return documentOf(answer).data.attributes.findings as Finding[];
    },
    refetchInterval: FRESH_EVERY,
  });
}

export function commands(id: number) {
  return queryOptions({
    queryKey: ['device', id, 'commands'],
    queryFn: async ({ signal }) => {
      const answer = await client.GET('/api/v1/devices/{id}/commands', {
        params: { path: { id } },
        querySerializer: () => queryString({ sort: '-id', size: COMMANDS }),
        signal,
      });
      return documentOf(answer).data ?? [];
    },
    refetchInterval: FRESH_EVERY,
  });
}

export interface Step {
  time: string | null;
  code: string;
  message: string;
  advice: string | null;
}

export function timeline(id: number) {
  return queryOptions({
    queryKey: ['command', id, 'timeline'],
    queryFn: async ({ signal }) => {
      const params = { path: { id } };
      const answer = await client.GET('/api/v1/commands/{id}/timeline', { params, signal });
      return documentOf(answer).data.attributes.steps as Step[];
    },
  });
}

/** Sends what the diagnosis or an action of the page names. */
export const send = mutationOptions({
  mutationFn: async ({ method, path, body }: Action) => {
    const response = await fetch(path.startsWith('/api/') ? path : `/api/v1${path}`, {
      method,
      headers: {
        'Content-Type': 'application/vnd.api+json',
        Accept: 'application/vnd.api+json',
        'X-Muster-Console': '1',
      },
      body: body === null ? null : JSON.stringify(body),
    });
    const error: unknown = response.ok ? undefined : await response.json().catch(() => undefined);
    documentOf({ error, response });
  },
});

export function command(id: number, request_type: string): Action {
  const body = { data: { type: 'commands', attributes: { request_type } } };
  return { method: 'POST', path: `/api/v1/devices/${id}/commands`, body };
}
