/** Times in sentences look the same wherever they are said. */
export { shortTime } from '../queue/index.ts'
