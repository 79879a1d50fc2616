import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Skeleton } from '../ui/notice';
import { ErrorPanel } from './error-panel';

interface Props<T> {
  query: UseQueryResult<T>;
  lines?: number | undefined;
  children: (data: T) => ReactNode;
}

/** Loads and fails by itself; keeps what was read while it is read again. */
export function Part<T>({ query, lines, children }: Props<T>) {
  if (query.data !== undefined) return children(query.data);
  if (query.error === null) return <Skeleton lines={lines} />;
  return <ErrorPanel error={query.error} onRetry={() => void query.refetch()} />;
}
