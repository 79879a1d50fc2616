import type { ReactNode } from 'react';
import { Empty } from './notice';
import { Page } from './page';

interface Props {
  page: string;
  title: string;
  why: string;
  back?: ReactNode;
  /** A way on. */
  children: ReactNode;
}

/** The page of something that does not exist. */
export function Missing({ page, title, why, back, children }: Props) {
  return (
    <Page title={page} back={back}>
      <Empty title={title}>
        <p>{why}</p>
        {children}
      </Empty>
    </Page>
  );
}
