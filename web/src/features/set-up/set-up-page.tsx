import { useQuery } from '@tanstack/react-query';
import { Part } from '../../api/part';
import { credentialsQuery } from '../../api/server';
import { setUpText as words } from '../../text/set-up';
import { Page } from '../../ui/page';
import { AddressStep } from './address-step';
import { DepStep } from './dep-step';
import { LabStep } from './lab-step';
import { OrganizationStep } from './organization-step';
import { PolicyStep } from './policy-step';
import { PushStep } from './push-step';
import './set-up.css';

export function SetUpPage() {
  const credentials = useQuery(credentialsQuery);
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
              <PolicyStep isOpenToAll={codes.includes('enrollment_open')} />
              <OrganizationStep />
              <DepStep />
              {!codes.includes('lab_on') && <LabStep isOn={false} />}
            </div>
          );
        }}
      </Part>
    </Page>
  );
}
