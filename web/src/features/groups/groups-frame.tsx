import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { text } from '../../text/en';
import { groupsText as words } from '../../text/groups';
import { AsCurl } from '../../ui/as-curl';
import { Page } from '../../ui/page';
import { Tabs } from '../../ui/tabs';
import { LIST_PATHS } from './queries';
import './groups.css';

interface Props {
  part: 'groups' | 'tags';
  aside?: ReactNode;
  children: ReactNode;
}

/** The page of tags and groups, one part of which is shown. */
export function GroupsFrame({ part, aside, children }: Props) {
  return (
    <Page title={words.title} aside={aside}>
      <Tabs label={words.parts} current={part}>
        <Link to="/groups" className="tab" activeOptions={{ exact: true }}>
          {words.groups}
        </Link>
        <Link to="/groups/tags" className="tab">
          {words.tags}
        </Link>
      </Tabs>
      {children}
      <AsCurl words={text.curl} requests={[{ path: LIST_PATHS[part] }]} />
    </Page>
  );
}
