import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { ActionError } from '../../../api/action-error';
import { Part } from '../../../api/part';
import { useMay } from '../../../api/rights';
import { settingsText } from '../../../text/settings';
import { Button } from '../../../ui/button';
import { Empty } from '../../../ui/notice';
import { Tabs } from '../../../ui/tabs';
import { SettingsFrame } from '../settings-frame';
import { JobTable } from './job-table';
import { JOB_STATUSES, jobsPath, jobsQuery, useRetry } from './queries';

const words = settingsText.jobs;

export function JobsPage() {
  const { status } = useSearch({ from: '/settings/jobs' });
  const isKnown = (JOB_STATUSES as readonly (string | undefined)[]).includes(status);
  const shown = isKnown ? status : undefined;
  const jobs = useQuery(jobsQuery(shown));
  const retry = useRetry();
  const canRetry = useMay()('retryJob');
  const dead = jobs.data?.rows.filter((job) => job.status === 'dead') ?? [];
  return (
    <SettingsFrame
      section="jobs"
      about={words.about}
      requests={[{ path: jobsPath(shown) }]}
      aside={
        canRetry &&
        dead.length > 0 && (
          <Button isPending={retry.isPending} onPress={() => retry.mutate(dead)}>
            {words.retryAll(dead.length)}
          </Button>
        )
      }
    >
      <Tabs label={words.filter} current={status ?? ''}>
        <Link
          to="/settings/jobs"
          search={{}}
          className="tab"
          activeOptions={{ exact: true, explicitUndefined: true }}
        >
          {words.all}
        </Link>
        {JOB_STATUSES.map((name) => (
          <Link key={name} to="/settings/jobs" search={{ status: name }} className="tab">
            {words.statuses[name]}
          </Link>
        ))}
      </Tabs>
      {retry.error !== null && <ActionError error={retry.error} />}
      <p role="status" className={retry.isSuccess ? '' : 'visually-hidden'}>
        {retry.isSuccess ? words.retried(retry.variables.length) : ''}
      </p>
      <Part query={jobs} lines={8}>
        {({ rows }) =>
          rows.length === 0 ? (
            <Empty title={words.none} />
          ) : (
            <JobTable rows={rows} onRetry={canRetry ? (job) => retry.mutate([job]) : undefined} />
          )
        }
      </Part>
    </SettingsFrame>
  );
}
