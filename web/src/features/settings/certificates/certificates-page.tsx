import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { PageLinks } from '../../../api/page-links';
import { Part } from '../../../api/part';
import { credentialsQuery } from '../../../api/server';
import { warningOf } from '../../../text/own-words';
import { sentenceOf } from '../../../text/sentence';
import { settingsText } from '../../../text/settings';
import { Notice } from '../../../ui/notice';
import { Section } from '../../../ui/page';
import { SettingsFrame } from '../settings-frame';
import { CredentialTable } from './credential-table';
import { DepAccounts } from './dep-accounts';
import { DEP_ACCOUNTS_PATH, depAccountsQuery, scepQuery } from './queries';
import { Scep } from './scep';

const words = settingsText.certificates;

const REQUESTS = [
  { label: settingsText.sections.certificates, path: '/api/v1/credentials' },
  { label: words.dep, path: DEP_ACCOUNTS_PATH },
  { label: words.scep, path: '/api/v1/configuration/scep' },
];

export function CertificatesPage() {
  const credentials = useQuery(credentialsQuery);
  const accounts = useQuery(depAccountsQuery);
  const scep = useQuery(scepQuery);
  return (
    <SettingsFrame section="certificates" about={words.about} requests={REQUESTS}>
      <Part query={credentials} lines={8}>
        {(data) => (
          <>
            <section className="notices" aria-label={words.warnings}>
              {data.warnings.map(({ code, detail }) => (
                <Notice key={`${code} ${detail}`} tone="warn" title={sentenceOf(code)}>
                  <p>
                    {warningOf({ code, detail })}
                    <PageLinks text={detail} />
                  </p>
                </Notice>
              ))}
              {data.warnings.length === 0 && <Notice tone="ok" title={words.noWarnings} />}
            </section>
            <CredentialTable credentials={data.credentials} />
          </>
        )}
      </Part>
      <p>
        {words.renew} <Link to="/set-up">{words.toSetUp}</Link>
      </p>
      <div className="settings-part">
        <h2>{words.dep}</h2>
        <Part query={accounts}>{(rows) => <DepAccounts rows={rows} />}</Part>
      </div>
      <Section title={words.scep}>
        <Part query={scep} lines={6}>
          {(data) => <Scep configuration={data} />}
        </Part>
      </Section>
    </SettingsFrame>
  );
}
