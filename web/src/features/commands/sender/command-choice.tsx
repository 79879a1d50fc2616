import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useState } from 'react';
import { meQuery } from '../../../api/me';
import { Part } from '../../../api/part';
import { commandsText } from '../../../text/commands';
import { Field } from '../../../ui/field';
import { Status } from '../../../ui/status';
import { type CommandType, commandTypesQuery } from './queries';
import { TOPICS, topicOf } from './topics';

const words = commandsText.choice;
/** Apple has as many. */
const PLATFORMS = 5;

interface Props {
  /** With a single device, what it does not take says so. */
  device: number | undefined;
  onChoose: (requestType: string) => void;
}

/** Apple's commands by what they are for. Enter in the search takes the first that is found. */
export function CommandChoice({ device, onChoose }: Props) {
  const [typed, setTyped] = useState('');
  const { data: me } = useQuery(meQuery);
  const types = useQuery(commandTypesQuery(device));
  const isAdmin = me?.role === 'admin';
  const sought = typed.trim().toLowerCase();
  return (
    <Part query={types} lines={12}>
      {(all) => {
        const allowed = all.filter(({ role }) => isAdmin || role !== 'admin');
        const found = TOPICS.map((topic) => ({
          topic,
          types: allowed.filter(
            (type) => topicOf(type.request_type) === topic && has(type, sought),
          ),
        })).filter((group) => group.types.length > 0);
        const count = found.reduce((sum, group) => sum + group.types.length, 0);
        const first = found[0]?.types[0];
        const onKey = (event: KeyboardEvent) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          if (sought !== '' && first !== undefined) onChoose(first.request_type);
        };
        return (
          // biome-ignore lint/a11y/noStaticElementInteractions: Enter in the search within it
          <div className="command-choice" onKeyDown={(event) => isSearch(event) && onKey(event)}>
            <Field
              label={words.search}
              type="search"
              value={typed}
              onChange={setTyped}
              autoComplete="off"
            />
            <p role="status" className={count === 0 ? '' : 'visually-hidden'}>
              {count === 0 ? words.none : words.count(count)}
            </p>
            <div className="topics">
              {found.map(({ topic, types: listed }) => (
                <section key={topic} aria-label={commandsText.topics[topic]}>
                  <h3>{commandsText.topics[topic]}</h3>
                  <ul>
                    {listed.map((type) => (
                      <li key={type.request_type}>
                        <CommandButton type={type} onChoose={onChoose} />
                      </li>
                    ))}
                  </ul>
                </section>
              ))}
            </div>
            {allowed.length < all.length && (
              <p className="soft">{words.hidden(all.length - allowed.length)}</p>
            )}
          </div>
        );
      }}
    </Part>
  );
}

function isSearch({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLInputElement;
}

function has({ title, request_type: name }: CommandType, sought: string): boolean {
  return `${title} ${name}`.toLowerCase().includes(sought);
}

interface ButtonProps {
  type: CommandType;
  onChoose: (requestType: string) => void;
}

function CommandButton({ type, onChoose }: ButtonProps) {
  const { request_type: requestType, title, is_destructive: isDestructive, eligible } = type;
  const isOnAll = type.platforms.split(', ').length >= PLATFORMS;
  const platforms = isOnAll ? words.allPlatforms : type.platforms;
  return (
    <button type="button" className="command-button" onClick={() => onChoose(requestType)}>
      <span className="command-button-title">
        {title}
        {isDestructive && <Status tone="bad">{words.destructive}</Status>}
        {eligible === false && <Status tone="soft">{words.notEligible}</Status>}
      </span>
      <span className="soft command-button-note">
        {eligible === false ? (type.reasons?.[0]?.detail ?? platforms) : platforms}
      </span>
    </button>
  );
}
