import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call, client } from '../api/client';
import { ME_KEY, meQuery } from '../api/me';

type Credentials = { token: string } | { link_secret: string };

export function useSignIn() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: Credentials) => call(() => client.POST('/sessions', { body })),
    onSuccess: () => queries.fetchQuery({ ...meQuery, staleTime: 0 }),
  });
}

/** Ends the session on the server, then forgets all that was read. */
export function useSignOut() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: number) =>
      call(() => client.DELETE('/sessions/{id}', { params: { path: { id } } })),
    onSettled: () => {
      queries.clear();
      queries.setQueryData(ME_KEY, null);
    },
  });
}
