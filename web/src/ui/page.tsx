import { type ReactNode, useEffect, useRef } from 'react';
import { useKeptFocus } from './use-kept-focus';
import './page.css';

interface Props {
  title: string;
  /** Leads to the list that the page belongs to. */
  back?: ReactNode;
  aside?: ReactNode;
  about?: ReactNode;
  children: ReactNode;
  /** The page fills the window and scrolls inside. */
  fill?: boolean;
}

/** Heading, what to do beside it, content. Focus goes to the heading after navigation. */
export function Page({ title, back, aside, about, children, fill = false }: Props) {
  const main = useRef<HTMLElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  useKeptFocus(main);
  useEffect(() => {
    document.title = `${title} · Muster`;
  }, [title]);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <main ref={main} className="page" data-fill={fill || undefined}>
      {back !== undefined && <p className="page-back">{back}</p>}
      <header className="page-head">
        <div className="page-title">
          <h1 ref={heading} tabIndex={-1} title={title}>
            {title}
          </h1>
          {about}
        </div>
        <div className="page-aside">{aside}</div>
      </header>
      {children}
    </main>
  );
}

interface SectionProps {
  title: string;
  aside?: ReactNode;
  children: ReactNode;
}

export function Section({ title, aside, children }: SectionProps) {
  return (
    <section className="section" aria-label={title}>
      <header className="section-head">
        <h2 tabIndex={-1}>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}
