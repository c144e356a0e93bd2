import Fastify from 'fastify';

/**
 * What a start costs at least as a call: a bare fastify in a process of its own, which answers each PUT with what it was sent. It
 * prints its address in one line, and ends with its input. Started by `bare-puts.ts`.
 */
const server = Fastify();
server.put('/v1/allocations/:id', (request) => request.body);
process.stdout.write(`${await server.listen({ host: '127.0.0.1', port: 0 })}\n`);
process.stdin.on('end', () => void server.close()).resume();
