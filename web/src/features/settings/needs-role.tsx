import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { meQuery } from '../../api/me';
import { settingsText as words } from '../../text/settings';
import { Notice } from '../../ui/notice';

interface Props {
  operation: string;
  least: string;
  children: ReactNode;
}

/** Shows its content to whom may call the operation; others read which role it needs. */
export function NeedsRole({ operation, least, children }: Props) {
  const { data: me } = useQuery(meQuery);
  if (me === undefined || me === null) return null;
  if (me.rights.includes(operation)) return children;
  return (
    <Notice title={words.needs(least)}>
      <p>{words.signedInAs(me.name, me.role)}</p>
    </Notice>
  );
}
