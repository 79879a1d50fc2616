import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { useState } from 'react';
import { ErrorPanel } from '../api/error-panel';
import { type Me, meQuery } from '../api/me';
import { text } from '../text/en';
import { Button } from '../ui/button';
import { Popover } from '../ui/popover';
import { currentTheme, saveTheme } from '../ui/theme';
import { ConnectionNotice } from './connection-notice';
import { Icon } from './icons';
import { useSignOut } from './session';
import { Shortcuts } from './shortcuts';
import { SignIn } from './sign-in';
import { SignInAgain } from './sign-in-again';
import './frame.css';

const PAGES = [
  ['overview', '/'],
  ['devices', '/devices'],
  ['commands', '/commands'],
  ['groups', '/groups'],
  ['settings', '/settings'],
] as const;

/** The window: one line while there is no connection, and below it all else. */
export function Frame() {
  return (
    <div className="window">
      <ConnectionNotice />
      <Content />
    </div>
  );
}

/** Navigation beside the page, or the sign-in where nobody is signed in. */
function Content() {
  const { data: me, error, refetch } = useQuery(meQuery);
  if (error !== null && me === undefined) {
    return <ErrorPanel error={error} onRetry={() => void refetch()} />;
  }
  return me === null ? <SignIn /> : <Pages me={me} />;
}

function Pages({ me }: { me: Me | undefined }) {
  return (
    <div className="frame">
      <a className="skip" href="#content">
        {text.skip}
      </a>
      <Sidebar me={me} />
      <div className="content" id="content">
        {me !== undefined && <Outlet />}
      </div>
      <Shortcuts />
      <SignInAgain me={me} />
    </div>
  );
}

function Sidebar({ me }: { me: Me | undefined }) {
  const path = useLocation({ select: (location) => location.pathname });
  return (
    <header className="sidebar">
      <p className="brand">{text.product}</p>
      <nav aria-label={text.navigation}>
        {PAGES.map(([name, to]) => {
          const current = to === '/' ? path === '/' : path.startsWith(to);
          return (
            <Link key={name} to={to} className="nav" aria-current={current ? 'page' : undefined}>
              <Icon name={name} />
              <span>{text.nav[name]}</span>
            </Link>
          );
        })}
      </nav>
      {me !== undefined && (
        <>
          <Account me={me} />
          <div className="account-more">
            <Popover label={text.account}>{() => <Account me={me} />}</Popover>
          </div>
        </>
      )}
    </header>
  );
}

/** Beside the page; on a phone behind a button at the end of the navigation. */
function Account({ me }: { me: Me }) {
  const [theme, setTheme] = useState(currentTheme);
  const signOut = useSignOut();
  const other = theme === 'dark' ? 'light' : 'dark';
  const turn = () => {
    saveTheme(other);
    setTheme(other);
  };
  const session = me.session_id;
  return (
    <div className="account">
      <p className="account-name" title={me.name}>
        {me.name}
        <span className="soft"> {me.role}</span>
      </p>
      <div className="account-buttons">
        <Button kind="quiet" onPress={turn}>
          {text.theme[other]}
        </Button>
        {typeof session === 'number' && (
          <Button kind="quiet" onPress={() => signOut.mutate(session)}>
            {text.signIn.out}
          </Button>
        )}
      </div>
    </div>
  );
}
