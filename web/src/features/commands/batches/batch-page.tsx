import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { BatchBar } from '../../../api/batch-bar';
import { isApiError } from '../../../api/errors';
import { Part } from '../../../api/part';
import { batchesText } from '../../../text/batches';
import { text } from '../../../text/en';
import { AsCurl } from '../../../ui/as-curl';
import { Missing } from '../../../ui/missing';
import { Page, Section } from '../../../ui/page';
import { Reasons, summaryOf } from '../sender/dry-run';
import { BatchActions } from './batch-actions';
import { BatchCommands } from './batch-commands';
import { BatchFacts } from './batch-facts';
import { BatchFailures } from './batch-failures';
import { BatchState } from './batch-state';
import { type Batch, batchQuery, isSettled } from './queries';
import '../commands.css';

const words = batchesText.batch;

export function BatchPage() {
  const { id } = useParams({ from: '/commands/batches/$id' });
  // Another batch is another page: focus goes to its heading.
  return <OneBatch key={id} id={id} />;
}

function OneBatch({ id }: { id: string }) {
  const batch = useQuery(batchQuery(id));
  const { data } = batch;
  if (isApiError(batch.error) && batch.error.status === 404) return <NoBatch id={id} />;
  return (
    <Page
      title={data?.name ?? data?.request_type ?? words.fallback(id)}
      about={data !== undefined && <BatchState state={data.state} />}
      aside={data !== undefined && <BatchActions batch={data} />}
    >
      <Part query={batch} lines={8}>
        {(loaded) => <Content batch={loaded} />}
      </Part>
      <AsCurl
        words={text.curl}
        requests={[
          { path: `/api/v1/command_batches/${id}` },
          { path: `/api/v1/command_batches/${id}/commands` },
        ]}
      />
    </Page>
  );
}

function NoBatch({ id }: { id: string }) {
  return (
    <Missing page={words.fallback(id)} title={words.gone} why={words.goneWhy}>
      <Link to="/commands" className="button">
        {words.toBatches}
      </Link>
    </Missing>
  );
}

function Content({ batch }: { batch: Batch }) {
  const { id, counts, targets, failures } = batch;
  return (
    <>
      <Related batch={batch} />
      <div className="columns">
        <Section title={words.progress}>
          <BatchBar counts={counts} />
          {targets !== null && (
            <div className="dry-run">
              <p>{summaryOf(targets)}</p>
              <Reasons targets={targets} />
            </div>
          )}
        </Section>
        <Section title={words.details}>
          <BatchFacts batch={batch} />
        </Section>
      </div>
      {failures !== null && failures.length > 0 && <BatchFailures failures={failures} />}
      <BatchCommands id={String(id)} counts={counts} isLive={!isSettled(batch)} />
    </>
  );
}

/** The batch that it repeats, and the one that repeats it. */
function Related({ batch: { retryOf, retriedBy } }: { batch: Batch }) {
  const link = (id: string) => (
    <Link to="/commands/batches/$id" params={{ id }}>
      {words.batchNumber(id)}
    </Link>
  );
  return (
    <>
      {retryOf !== undefined && (
        <p className="soft">
          {words.retryOf} {link(retryOf)}.
        </p>
      )}
      {retriedBy !== undefined && (
        <p className="soft">
          {words.retriedBy} {link(retriedBy)}.
        </p>
      )}
    </>
  );
}
