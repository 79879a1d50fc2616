import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { groupsText as words } from '../../text/groups';
import { Page } from '../../ui/page';
import { Tabs } from '../../ui/tabs';
import './groups.css';

interface Props {
  aside?: ReactNode;
  children: ReactNode;
}

/** The page of tags and groups, one part of which is shown. */
export function GroupsFrame({ aside, children }: Props) {
  return (
    <Page title={words.title} aside={aside}>
      <Tabs label={words.parts}>
        <Link to="/groups" className="tab" activeOptions={{ exact: true }}>
          {words.groups}
        </Link>
        <Link to="/groups/tags" className="tab">
          {words.tags}
        </Link>
      </Tabs>
      {children}
    </Page>
  );
}
