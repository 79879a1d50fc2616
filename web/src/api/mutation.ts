import {
  type MutateOptions,
  type UseMutationOptions,
  type UseMutationResult,
  useQueryClient,
  useMutation as useQueryMutation,
} from '@tanstack/react-query';
import { useCallback, useId, useRef } from 'react';

/** As long as the two clicks of a double click may be apart. */
const DOUBLE_CLICK = 500;

type Taken = 'mutationFn' | 'mutationKey';
interface Options<T, V> extends Omit<UseMutationOptions<T, Error, V>, Taken> {
  /** `key` is the Idempotency-Key: the same until this has succeeded once. */
  mutationFn: (variables: V, key: string) => Promise<T>;
}

/**
 * A mutation that a double click starts once: the button shows what runs only after the second click. What
 * runs already, or has just been done, is not started again with the same variables.
 */
export function useMutation<T = unknown, V = void>(
  options: Options<T, V>,
): UseMutationResult<T, Error, V> {
  const id = useId();
  const queries = useQueryClient();
  const keys = useRef(new Map<string, string>());
  const mutation = useQueryMutation<T, Error, V>({
    ...options,
    mutationKey: [id],
    mutationFn: async (variables) => {
      const intent = intentOf(variables);
      const key = keys.current.get(intent) ?? newKey();
      keys.current.set(intent, key);
      const data = await options.mutationFn(variables, key);
      keys.current.delete(intent);
      return data;
    },
  });
  const { mutate: start, reset: forget } = mutation;
  const mutate = useCallback(
    (variables: V, callbacks?: MutateOptions<T, Error, V>) => {
      const intent = intentOf(variables);
      const isRepeated = queries
        .getMutationCache()
        .findAll({ mutationKey: [id] })
        .some(({ state }) => intentOf(state.variables) === intent && isRecent(state));
      if (!isRepeated) start(variables, callbacks);
    },
    [queries, id, start],
  );
  const reset = useCallback(() => {
    keys.current.clear();
    forget();
  }, [forget]);
  return { ...mutation, mutate, reset } as UseMutationResult<T, Error, V>;
}

/** The same for the same variables; of a file, JSON would show nothing. */
function intentOf(variables: unknown): string {
  return JSON.stringify([variables], (_name, value: unknown) => {
    if (!(value instanceof File)) return value;
    return [value.name, value.size, value.lastModified];
  });
}

function isRecent({ status, submittedAt }: { status: string; submittedAt: number }): boolean {
  if (status === 'pending') return true;
  return status === 'success' && Date.now() - submittedAt < DOUBLE_CLICK;
}

/** Browsers offer crypto.randomUUID over https alone. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The header that lets the server do a request once, however often it arrives. */
export function once(key: string): { headers: { 'Idempotency-Key': string } } {
  return { headers: { 'Idempotency-Key': key } };
}
