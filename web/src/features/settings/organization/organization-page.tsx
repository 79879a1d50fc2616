import { useQuery } from '@tanstack/react-query';
import { Part } from '../../../api/part';
import { organizationQuery } from '../../../api/server';
import { settingsText } from '../../../text/settings';
import { Section } from '../../../ui/page';
import { SettingsFrame } from '../settings-frame';
import { OrganizationForm } from './organization-form';

const words = settingsText.organization;

export function OrganizationPage() {
  const organization = useQuery(organizationQuery);
  return (
    <SettingsFrame
      section="organization"
      about={words.about}
      requests={[{ path: '/api/v1/configuration/organization' }]}
    >
      <Section title={words.form}>
        <Part query={organization} lines={8}>
          {(data) => <OrganizationForm organization={data} />}
        </Part>
      </Section>
    </SettingsFrame>
  );
}
