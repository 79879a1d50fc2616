import { ErrorPanel } from '../../../api/error-panel';
import { isApiError } from '../../../api/errors';
import { commandsText, refusalOf } from '../../../text/commands';
import { text } from '../../../text/en';
import { Button } from '../../../ui/button';
import { Notice } from '../../../ui/notice';
import { Disclosure } from '../disclosure';
import { Examples } from './examples';
import type { Targets } from './queries';
import type { DryRun as State } from './use-dry-run';

const words = commandsText.dryRun;

interface Props {
  /** Why there is nothing to ask. */
  missing: 'targets' | 'form' | undefined;
  dryRun: State;
}

/** In plain words who gets the command, who does not, and why. */
export function DryRun({ missing, dryRun }: Props) {
  const { data, error, isStale, isPaused, retry } = dryRun;
  if (missing === 'targets') return <p className="soft">{words.noTargets}</p>;
  if (missing === 'form') return <p className="soft">{words.incomplete}</p>;
  if (isPaused) {
    return (
      <Notice tone="warn" title={words.paused}>
        <Button onPress={retry}>{text.signIn.again}</Button>
      </Notice>
    );
  }
  if (error !== null && !isStale) return <Failure error={error} onRetry={retry} />;
  if (data === undefined) {
    return (
      <p role="status" className="soft">
        {words.counting}
      </p>
    );
  }
  return (
    <div className="dry-run" data-stale={isStale || undefined} aria-busy={isStale}>
      <p className="dry-run-sum" role="status">
        {summaryOf(data.targets)}
      </p>
      <Reasons targets={data.targets} />
    </div>
  );
}

export function summaryOf({ matched, eligible }: Pick<Targets, 'matched' | 'eligible'>): string {
  if (eligible === 0) return words.none(matched);
  return eligible === matched ? words.all(eligible) : words.some(eligible, matched);
}

/** Of those that get less, and of those that get nothing. */
export function Reasons({ targets }: { targets: Targets }) {
  const { matched, eligible, reduced, refused, left_out: leftOut } = targets;
  return (
    <>
      {refused.length > 0 && (
        <section>
          <h3>{words.refused(matched - eligible)}</h3>
          <ul className="reasons">
            {refused.map(({ code, count, examples }) => (
              <li key={code}>
                <p>
                  {refusalOf(code)} <span className="soft">{commandsText.devices(count)}</span>
                </p>
                <Examples ids={examples} count={count} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {reduced > 0 && (
        <section>
          <h3>{words.reduced(reduced)}</h3>
          <p className="soft">{words.reducedWhy}</p>
          <Disclosure title={words.leftOut(leftOut.length)}>
            <ul className="left-out">
              {leftOut.map(({ name, count, examples }) => (
                <li key={name}>
                  <code>{name}</code>
                  <span className="soft">{commandsText.devices(count)}</span>
                  {count < matched && <Examples ids={examples} count={count} />}
                </li>
              ))}
            </ul>
          </Disclosure>
        </section>
      )}
    </>
  );
}

function Failure({ error, onRetry }: { error: Error; onRetry: () => void }) {
  if (!isApiError(error) || error.status !== 422) {
    return <ErrorPanel error={error} onRetry={onRetry} />;
  }
  return (
    <div role="status">
      <Notice tone="warn" title={words.faults}>
        <ul>
          {error.faults.map(({ detail = error.message }) => (
            <li key={detail}>{detail}</li>
          ))}
        </ul>
      </Notice>
    </div>
  );
}
