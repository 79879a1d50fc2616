import { useQuery } from '@tanstack/react-query';
import { meQuery } from './me';

/** Whether the role of the person may call an operation of the API document. */
export function useMay(): (operationId: string) => boolean {
  const { data: me } = useQuery(meQuery);
  return (operationId) => me?.rights.includes(operationId) ?? false;
}
