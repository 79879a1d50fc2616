import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { setUpText } from '../../text/set-up';
import { Section } from '../../ui/page';
import { ShellLine } from '../../ui/shell-line';
import { enrolledQuery } from './queries';

const words = setUpText.lab;

/** The API starts no simulated devices: the command line does. */
export function LabStep({ isOn }: { isOn: boolean }) {
  const { data: count } = useQuery(enrolledQuery);
  return (
    <Section title={words.title}>
      <p className="soft set-up-text">{isOn ? words.on : words.off}</p>
      <ShellLine
        line={isOn ? words.command(location.origin) : words.start}
        copy={setUpText.copy}
        copied={setUpText.copied}
      />
      <p className="soft">{words.where}</p>
      {count !== undefined && count > 0 && (
        <p role="status">
          {words.count(count)} <Link to="/devices">{words.show}</Link>
        </p>
      )}
    </Section>
  );
}
