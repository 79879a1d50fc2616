import { useQuery } from '@tanstack/react-query';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { isApiError } from '../../api/errors';
import { Part } from '../../api/part';
import { deviceText as words } from '../../text/device';
import { text } from '../../text/en';
import { AsCurl } from '../../ui/as-curl';
import { Empty } from '../../ui/notice';
import { Page } from '../../ui/page';
import { DeviceActions } from './device-actions';
import { DeviceState } from './device-state';
import { DeviceTabs } from './device-tabs';
import { Diagnosis } from './diagnosis';
import { HealthStatus } from './health-status';
import { nameOf } from './name';
import { deviceQuery, listPath } from './queries';
import { LIST_OF_TAB } from './tabs';
import './device.css';

export function DevicePage() {
  const params = useParams({ from: '/devices/$id' });
  const { tab = 'facts' } = useSearch({ from: '/devices/$id' });
  const id = Number(params.id);
  const query = useQuery(deviceQuery(id));
  const device = query.data?.device;
  if (isApiError(query.error) && query.error.status === 404) return <NoDevice />;
  const list = LIST_OF_TAB[tab];
  return (
    <Page
      title={device === undefined ? words.page : nameOf(device)}
      about={device !== undefined && <HealthStatus health={device.health} />}
    >
      <Part query={query} lines={16}>
        {(data) => (
          <>
            <DeviceState device={data.device} />
            <DeviceActions key={id} device={data.device} />
            <Diagnosis key={`diagnosis ${id}`} id={id} />
            <DeviceTabs key={`tabs ${id}`} {...data} tab={tab} />
          </>
        )}
      </Part>
      <AsCurl
        words={text.curl}
        requests={[
          { label: words.curl.device, path: `/api/v1/devices/${id}?include=tags,device_groups` },
          { label: words.curl.diagnosis, path: `/api/v1/devices/${id}/diagnosis` },
          ...(list === undefined ? [] : [{ label: words.tab[tab], path: listPath(id, list) }]),
        ]}
      />
    </Page>
  );
}

function NoDevice() {
  return (
    <Page title={words.page}>
      <Empty title={words.gone}>
        <p>{words.goneWhy}</p>
        <Link to="/devices" className="button">
          {words.toDevices}
        </Link>
      </Empty>
    </Page>
  );
}
