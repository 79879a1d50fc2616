import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { isApiError } from '../../../api/errors';
import { dryRunQuery, type Order } from './queries';
import { useSettled } from './settled';

const NOTHING: Order = { request_type: '' };

/** What would become of the devices, once the typing pauses; undefined asks nothing. */
export function useDryRun(order: Order | undefined) {
  const text = JSON.stringify(order ?? NOTHING);
  const settled = useSettled(text);
  const [refused, setRefused] = useState<string>();
  const query = useQuery({
    ...dryRunQuery(JSON.parse(settled) as Order),
    // Someone who did not want to sign in again is not asked with each key that is typed.
    enabled: order !== undefined && settled === text && refused === undefined,
    placeholderData: keepPreviousData,
  });
  const { error, data, isFetching, isPlaceholderData, refetch } = query;
  const needsSignIn = isApiError(error, 'reauthentication_required');
  if (needsSignIn && refused === undefined) setRefused(settled);
  const retry = () => {
    setRefused(undefined);
    void refetch();
  };
  const isStale = isFetching || settled !== text || (isPlaceholderData && error === null);
  const isPaused = refused !== undefined && !isFetching;
  return { data, error: settled === text ? error : null, isStale, isPaused, retry };
}

export type DryRun = ReturnType<typeof useDryRun>;
