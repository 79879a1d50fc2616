import { useEffect } from 'react';
import { useIsReached, watchConnection } from '../api/connection';
import { text } from '../text/en';

/** One line above every page while the server cannot be reached. */
export function ConnectionNotice() {
  const isReached = useIsReached();
  useEffect(watchConnection, []);
  return (
    <p role="status" className={isReached ? 'visually-hidden' : 'connection'}>
      {isReached ? '' : text.error.offline}
    </p>
  );
}
