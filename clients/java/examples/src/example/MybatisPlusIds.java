package example;

import com.baomidou.mybatisplus.core.incrementer.IdentifierGenerator;

/**
 * IDs for MyBatis-Plus: register it as a Spring bean, and annotate keys with
 * {@code @TableId(type = IdType.ASSIGN_ID)}.
 */
public final class MybatisPlusIds implements IdentifierGenerator {
    @Override
    public Number nextId(Object entity) {
        return Ids.ORDERS.next();
    }
}
