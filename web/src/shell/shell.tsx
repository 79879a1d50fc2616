import { useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { ApiError } from '../api/client.js';
import { text } from '../text/en.js';
import { Notice } from '../ui/notice.js';
import { me, signOut } from './session.js';
import { SignIn } from './sign-in.js';
import './shell.css';

const DeviceList = lazy(async () => ({
  default: (await import('../features/devices/device-list.js')).DeviceList,
}));

const DevicePage = lazy(async () => ({
  default: (await import('../features/device/device-page.js')).DevicePage,
}));

function page() {
  const [, id] = location.pathname.match(/^\/devices\/(\d{1,9})$/) ?? [];
  return id === undefined ? <DeviceList /> : <DevicePage id={Number(id)} />;
}

/** Being signed out is a state of the shell, not of its pages. */
export function Shell() {
  const queries = useQueryClient();
  const { data, error, isPending, refetch } = useQuery(me);
  if (isPending) return <Notice lines={[text.loading]} />;
  if (error instanceof ApiError && error.status === 401) {
    return <SignIn onSignedIn={() => enter(() => queries.resetQueries())} />;
  }
  if (data === undefined) {
    return (
      <Notice kind="error" lines={[error?.message ?? text.broken]}>
        <button type="button" onClick={() => void refetch()}>
          {text.retry}
        </button>
      </Notice>
    );
  }
  const { name, role, session_id } = data;
  const leave = async () => {
    if (session_id !== null) await signOut(session_id);
    // Nothing of what was read stays behind for the next person.
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== me.queryKey[0] });
    await queries.resetQueries({ queryKey: me.queryKey });
  };
  return (
    <div className="shell">
      <header>
        <strong>{text.product}</strong>
        <nav>
          <a href="/devices">{text.devices.title}</a>
        </nav>
        <span>{text.session.as(name, role)}</span>
        <button type="button" onClick={() => void leave()}>
          {text.session.signOut}
        </button>
      </header>
      <main>
        <Suspense fallback={<Notice lines={[text.loading]} />}>{page()}</Suspense>
      </main>
    </div>
  );
}

function enter(reset: () => Promise<void>) {
  if (location.pathname === '/sign-in') history.replaceState(null, '', '/devices');
  void reset();
}
