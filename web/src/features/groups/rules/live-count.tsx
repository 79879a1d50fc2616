import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { ErrorPanel } from '../../../api/error-panel';
import { isApiError } from '../../../api/errors';
import { groupsText as words } from '../../../text/groups';
import { Notice } from '../../../ui/notice';
import { previewQuery } from '../queries';
import type { ApiRule } from './rule';

const PAUSE = 400;

/** How many devices the rule would choose, once the typing pauses. */
export function LiveCount({ rule }: { rule: ApiRule[] | undefined }) {
  const settled = useSettled(rule);
  const preview = useQuery({
    ...previewQuery(settled ?? []),
    enabled: settled !== undefined,
    placeholderData: keepPreviousData,
  });
  const { data, error, isFetching } = preview;
  const isStale = isFetching || settled !== rule;
  if (rule === undefined) return <p className="soft">{words.preview.incomplete}</p>;
  if (error !== null && !isStale) return <Faults error={error} retry={preview.refetch} />;
  if (data === undefined) return <p role="status">{words.preview.counting}</p>;
  return (
    <div className="live-count" data-stale={isStale || undefined}>
      <p className="live-count-number" role="status">
        {words.preview.match(data.count)}
      </p>
      {data.unknown > 0 && <p className="soft">{words.preview.unknown(data.unknown)}</p>}
      {data.examples.length > 0 && (
        <>
          <h3>{words.preview.examples}</h3>
          <ul>
            {data.examples.map(({ id, name }) => (
              <li key={id}>
                <Link to="/devices/$id" params={{ id: String(id) }}>
                  {name ?? words.unnamed(id)}
                </Link>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

function useSettled(rule: ApiRule[] | undefined): ApiRule[] | undefined {
  const [settled, setSettled] = useState(rule);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(rule), PAUSE);
    return () => clearTimeout(timer);
  }, [rule]);
  return rule === undefined ? undefined : settled;
}

/** A rule that is not valid has every fault of it named. */
function Faults({ error, retry }: { error: Error; retry: () => unknown }) {
  if (!isApiError(error) || error.status !== 422) {
    return <ErrorPanel error={error} onRetry={() => void retry()} />;
  }
  return (
    <div role="status">
      <Notice tone="warn" title={words.preview.faults}>
        <ul>
          {error.faults.map(({ detail = error.message }) => (
            <li key={detail}>{detail}</li>
          ))}
        </ul>
      </Notice>
    </div>
  );
}
