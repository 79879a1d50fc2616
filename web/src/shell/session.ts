import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { callOnce, client, knownAnswers } from '../api/client';
import { isApiError } from '../api/errors';
import { ME_KEY, meQuery } from '../api/me';
import { useMutation } from '../api/mutation';
import { text } from '../text/en';

type Credentials = { token: string } | { link_secret: string };

export function useSignIn() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (body: Credentials) => {
      await callOnce(() => client.POST('/sessions', { body }));
      return queries.fetchQuery({ ...meQuery, staleTime: 0 });
    },
  });
}

/** The API says how a program sends its token; a person has just entered one. */
export function tokenFault(error: Error | null): string | undefined {
  const isWrong = isApiError(error) && error.status === 401;
  return isWrong ? text.signIn.wrongToken : error?.message;
}

/** Ends the session on the server. The form that follows forgets all that was read. */
export function useSignOut() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: number) =>
      callOnce(() => client.DELETE('/sessions/{id}', { params: { path: { id } } })),
    onSettled: () => queries.setQueryData(ME_KEY, null),
  });
}

/** What one person has read is not for the next one. Nothing shows it any more. */
export function useForgetting(): void {
  const queries = useQueryClient();
  useEffect(() => {
    knownAnswers.forget();
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== ME_KEY[0] });
  }, [queries]);
}
