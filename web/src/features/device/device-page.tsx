import { useQuery } from '@tanstack/react-query';
import { Link, useLocation, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { isApiError } from '../../api/errors';
import { Part } from '../../api/part';
import { deviceText as words } from '../../text/device';
import { text } from '../../text/en';
import { AsCurl } from '../../ui/as-curl';
import { Missing } from '../../ui/missing';
import { Page } from '../../ui/page';
import { ActionResult } from './actions/action-result';
import { deletionFor, type Offer } from './actions/actions';
import { DeviceActions } from './actions/device-actions';
import { DeviceState } from './device-state';
import { DeviceTabs } from './device-tabs';
import { Diagnosis } from './diagnosis';
import { HealthStatus } from './health-status';
import { nameOf } from './name';
import { deviceQuery, listPath, useSend } from './queries';
import { LIST_OF_TAB } from './tabs';
import './device.css';

/** Another device is another page: nothing of the former one stays. */
export function DevicePage() {
  const { id } = useParams({ from: '/devices/$id' });
  return <OneDevice key={id} id={Number(id)} />;
}

function OneDevice({ id }: { id: number }) {
  const { tab = 'facts' } = useSearch({ from: '/devices/$id' });
  const query = useQuery(deviceQuery(id));
  const sending = useSend(id);
  const [chosen, setChosen] = useState<Offer>();
  const device = query.data?.device;
  if (isApiError(query.error) && query.error.status === 404) return <NoDevice />;
  const list = LIST_OF_TAB[tab];
  return (
    <Page
      title={device === undefined ? words.page : nameOf(device)}
      back={<BackToDevices />}
      aside={
        device !== undefined && (
          <DeviceActions device={device} sending={sending} chosen={chosen} onChoose={setChosen} />
        )
      }
      about={device && <HealthStatus health={device.health} />}
    >
      <Part query={query} lines={16}>
        {(data) => (
          <>
            <DeviceState device={data.device} />
            <ActionResult device={data.device} sending={sending} isAsked={chosen !== undefined} />
            <Diagnosis device={data.device} onDelete={() => setChosen(deletionFor('admin')[0])} />
            <DeviceTabs {...data} tab={tab} />
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

/** The list as it was left: its filter, its order and its columns. */
function BackToDevices() {
  const search = useLocation({ select: ({ state }) => state.devices });
  return (
    <Link to="/devices" search={search ?? {}}>
      <span aria-hidden="true">‹ </span>
      {words.back}
    </Link>
  );
}

function NoDevice() {
  return (
    <Missing page={words.page} title={words.gone} why={words.goneWhy} back={<BackToDevices />}>
      <Link to="/devices" className="button">
        {words.toDevices}
      </Link>
    </Missing>
  );
}
