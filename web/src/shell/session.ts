import { queryOptions } from '@tanstack/react-query';
import { client, documentOf } from '../api/client.js';

export interface Me {
  name: string;
  role: string;
  session_id: number | null;
}

export const me = queryOptions({
  queryKey: ['me'],
  queryFn: async ({ signal }) => {
    const { data } = documentOf(await client.GET('/api/v1/me', { signal }));
    return data.attributes as Me;
  },
  retry: false,
  staleTime: 60_000,
});

/** An API token, or the secret of a link that works once. */
export type Credential = { token: string } | { link_secret: string };

export async function signIn(attributes: Credential) {
  // The body's types are those of a resource that lists can show; this one is never shown.
  const response = await fetch('/api/v1/sessions', {
    method: 'POST',
    headers: {
      'Content-Type': 'application/vnd.api+json',
      Accept: 'application/vnd.api+json',
      'X-Muster-Console': '1',
    },
    body: JSON.stringify({ data: { type: 'sessions', attributes } }),
  });
  const error: unknown = response.ok ? undefined : await response.json().catch(() => undefined);
  documentOf({ error, response });
}

export async function signOut(sessionId: number) {
  const params = { path: { id: sessionId } };
  documentOf(await client.DELETE('/api/v1/sessions/{id}', { params }));
}
