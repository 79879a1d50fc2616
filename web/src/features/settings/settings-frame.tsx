import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useMay } from '../../api/rights';
import { text } from '../../text/en';
import { settingsText as words } from '../../text/settings';
import { AsCurl } from '../../ui/as-curl';
import type { CurlRequest } from '../../ui/curl';
import { Page } from '../../ui/page';
import { NeedsRole } from './needs-role';
import './settings.css';

const SECTIONS = [
  'certificates',
  'doctor',
  'organization',
  'tokens',
  'sessions',
  'jobs',
  'backups',
  'audit',
] as const;

/** What one must be allowed to call to find a section in the list. */
const READS: Partial<Record<(typeof SECTIONS)[number], string>> = {
  doctor: 'examineServer',
  backups: 'listBackups',
  audit: 'listAuditEvents',
};

interface Props {
  section: (typeof SECTIONS)[number];
  about?: string;
  aside?: ReactNode;
  /** What one must be allowed to call to see the section, and the role that it takes. */
  needs?: { operation: string; least: string };
  /** What the section asks the API. */
  requests: readonly (CurlRequest & { label?: string })[];
  children: ReactNode;
}

/** A section of the settings beside the list of all. */
export function SettingsFrame({ section, about, aside, needs, requests, children }: Props) {
  const may = useMay();
  const isListed = (name: (typeof SECTIONS)[number]) => {
    const operation = READS[name];
    return name === section || operation === undefined || may(operation);
  };
  const content = (
    <>
      {children}
      {requests.length > 0 && <AsCurl words={text.curl} requests={requests} />}
    </>
  );
  return (
    <Page title={words.sections[section]} aside={aside}>
      <div className="settings">
        <nav className="settings-nav" aria-label={words.navigation}>
          {SECTIONS.filter(isListed).map((name) => (
            <Link key={name} to={`/settings/${name}`}>
              {words.sections[name]}
            </Link>
          ))}
        </nav>
        <div className="settings-content">
          {about !== undefined && <p className="soft">{about}</p>}
          {needs === undefined ? content : <NeedsRole {...needs}>{content}</NeedsRole>}
        </div>
      </div>
    </Page>
  );
}
