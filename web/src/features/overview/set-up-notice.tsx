import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { overviewText as words } from '../../text/overview';
import { Notice } from '../../ui/notice';
import { credentialsQuery } from './queries';

/** Warnings of what the set-up is for. */
const MISSING = ['no_push_certificate', 'push_certificate_expired', 'push_certificate_without_key'];

/** Leads to the set-up while no device can enroll, or none has. */
export function SetUpNotice({ devices }: { devices: number | undefined }) {
  const { data } = useQuery(credentialsQuery);
  if (data === undefined || devices === undefined) return null;
  const isMissing = data.warnings.some(({ code }) => MISSING.includes(code));
  if (!isMissing && devices > 0) return null;
  return (
    <Notice
      tone={isMissing ? 'warn' : 'soft'}
      title={isMissing ? words.setUpMissing : words.setUpNoDevices}
    >
      <Link to="/set-up" className="button">
        {words.setUp}
      </Link>
    </Notice>
  );
}
