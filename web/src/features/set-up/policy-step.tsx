import { useQuery } from '@tanstack/react-query';
import { useMay } from '../../api/rights';
import { setUpText } from '../../text/set-up';
import { Notice } from '../../ui/notice';
import { ShellLine } from '../../ui/shell-line';
import { LinkForm } from './link-form';
import { linksQuery } from './queries';
import { Step } from './step';

const words = setUpText.policy;

/** The API says of the policy only when it lets everybody in. */
export function PolicyStep({ isOpenToAll }: { isOpenToAll: boolean }) {
  const may = useMay();
  const links = useQuery({ ...linksQuery, enabled: may('listEnrollmentLinks') });
  const usable = links.data?.filter(({ status }) => status === 'usable').length ?? 0;
  const state = isOpenToAll ? 'open' : usable > 0 ? 'done' : 'unknown';
  return (
    <Step title={words.title} why={words.why} state={state}>
      {isOpenToAll && <Notice tone="warn" title={words.openTo} />}
      <ShellLine line="ENROLLMENT=link" copy={setUpText.copy} copied={setUpText.copied} />
      {links.data !== undefined && (
        <p>{links.data.length === 0 ? words.noLinks : words.links(usable)}</p>
      )}
      {may('createEnrollmentLink') ? <LinkForm /> : <p className="soft">{words.needsOperator}</p>}
    </Step>
  );
}
