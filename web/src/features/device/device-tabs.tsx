import { Link } from '@tanstack/react-router';
import { useMay } from '../../api/rights';
import { deviceText as words } from '../../text/device';
import { Notice } from '../../ui/notice';
import { Tabs } from '../../ui/tabs';
import { CommandsTab } from './commands/commands-tab';
import { FactsTab } from './facts-tab';
import { ApplicationsTab } from './lists/applications-tab';
import { CertificatesTab } from './lists/certificates-tab';
import { ChangesTab } from './lists/changes-tab';
import { FormerTab } from './lists/former-tab';
import { ItemsTab } from './lists/items-tab';
import { ProfilesTab } from './lists/profiles-tab';
import { UsersTab } from './lists/users-tab';
import type { Device, Mark } from './queries';
import { SecretsTab } from './secrets/secrets-tab';
import { TABS, type Tab } from './tabs';

const LISTS = {
  commands: CommandsTab,
  items: ItemsTab,
  applications: ApplicationsTab,
  profiles: ProfilesTab,
  certificates: CertificatesTab,
  users: UsersTab,
  secrets: SecretsTab,
  changes: ChangesTab,
  former: FormerTab,
};

interface Props {
  device: Device;
  marks: readonly Mark[];
  tab: Tab;
}

/** What is known of the device; each tab loads and fails by itself. */
export function DeviceTabs({ device, marks, tab }: Props) {
  const may = useMay();
  const hasFormer = (device.enrollment_number ?? 1) > 1 || device.enrollment_state === 'unenrolled';
  const isShown: Partial<Record<Tab, boolean>> = {
    secrets: may('listSecretsOfDevice'),
    former: hasFormer || tab === 'former',
  };
  const List = tab === 'facts' ? undefined : LISTS[tab];
  return (
    <>
      <Tabs label={words.tabs} current={tab}>
        {TABS.filter((name) => isShown[name] !== false).map((name) => (
          <Link
            key={name}
            to="/devices/$id"
            params={{ id: String(device.id) }}
            search={name === 'facts' ? {} : { tab: name }}
            state={true}
            className="tab"
            activeOptions={{ exact: true, explicitUndefined: true }}
            resetScroll={false}
            replace
          >
            {words.tab[name]}
          </Link>
        ))}
      </Tabs>
      <div className="device-tab">
        {tab === 'secrets' && isShown.secrets === false ? (
          <Notice title={words.secrets.needsOperator} />
        ) : List === undefined ? (
          <FactsTab device={device} marks={marks} />
        ) : (
          <List key={tab} id={device.id} />
        )}
      </div>
    </>
  );
}
