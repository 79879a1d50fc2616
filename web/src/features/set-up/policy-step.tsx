import { useQuery } from '@tanstack/react-query';
import { useMay } from '../../api/rights';
import { setUpText } from '../../text/set-up';
import { Notice } from '../../ui/notice';
import { ShellLine } from '../../ui/shell-line';
import { LinkForm } from './link-form';
import { linksQuery } from './queries';
import { Step } from './step';

const words = setUpText.policy;

/** Open is for a start: anyone who finds the server can enroll. */
export function PolicyStep({ policy }: { policy: 'open' | 'link' | 'closed' }) {
  const may = useMay();
  const links = useQuery({ ...linksQuery, enabled: may('listEnrollmentLinks') });
  const usable = links.data?.filter(({ status }) => status === 'usable').length ?? 0;
  return (
    <Step title={words.title} why={words.why} state={policy === 'open' ? 'open' : 'done'}>
      <Notice tone={policy === 'open' ? 'warn' : 'soft'} title={words.is[policy]} />
      {policy !== 'link' && (
        <>
          <p>{words.change}</p>
          <ShellLine line="ENROLLMENT=link" copy={setUpText.copy} copied={setUpText.copied} />
        </>
      )}
      {links.data !== undefined && (
        <p>{links.data.length === 0 ? words.noLinks : words.links(usable)}</p>
      )}
      {may('createEnrollmentLink') ? <LinkForm /> : <p className="soft">{words.needsOperator}</p>}
    </Step>
  );
}
