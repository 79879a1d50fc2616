import { useQuery } from '@tanstack/react-query';
import { Part } from '../../api/part';
import { useMay } from '../../api/rights';
import { credentialsQuery } from '../../api/server';
import { text } from '../../text/en';
import { setUpText as words } from '../../text/set-up';
import { AsCurl } from '../../ui/as-curl';
import { Page } from '../../ui/page';
import { AddressStep } from './address-step';
import { DepStep } from './dep-step';
import { LabStep } from './lab-step';
import { OrganizationStep } from './organization-step';
import { PolicyStep } from './policy-step';
import { PushStep } from './push-step';
import { SET_UP_REQUESTS } from './queries';
import './set-up.css';

export function SetUpPage() {
  const credentials = useQuery(credentialsQuery);
  const may = useMay();
  const requests = SET_UP_REQUESTS.filter(({ operation }) => may(operation));
  return (
    <Page title={words.title}>
      <p className="soft set-up-text">{words.about}</p>
      <Part query={credentials} lines={12}>
        {(report) => {
          const codes = report.warnings.map(({ code }) => code);
          return (
            <div className="set-up">
              {codes.includes('lab_on') && <LabStep isOn />}
              <AddressStep />
              <PushStep report={report} />
              <PolicyStep policy={report.enrollment} />
              <OrganizationStep />
              <DepStep />
              {!codes.includes('lab_on') && <LabStep isOn={false} />}
            </div>
          );
        }}
      </Part>
      <AsCurl
        words={text.curl}
        requests={requests.map(({ step, path }) => ({ label: words[step].title, path }))}
      />
    </Page>
  );
}
